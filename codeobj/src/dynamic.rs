//! The dynamic segment: symbols and relocations, as a loader finds them.
//!
//! Sources: ELF gABI (dynamic section), AMDGPUUsage (LLVM 22), section *Relocation Records*.

use std::collections::BTreeMap;

use object::LittleEndian as LE;
use object::elf::{Dyn64, FileHeader64, PT_DYNAMIC, ProgramHeader64, Rela64, Sym64};
use object::pod::{Pod, slice_from_bytes};
use object::read::elf::{GnuHashTable, HashTable};
use serde::Serialize;

use crate::error::Problem;
use crate::segment::{Segment, bytes_at, tail_at};

/// A defined dynamic symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its value: an address in the image, unless it is absolute.
    pub address: u64,
    /// Its size in bytes (`st_size`).
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
    /// Whether its value is a number that does not move with the image (`SHN_ABS`).
    pub absolute: bool,
}

/// What a symbol names (`STT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum SymbolKind {
    /// Code: `STT_FUNC`.
    Function,
    /// Data: `STT_OBJECT`; kernel descriptors are data.
    Object,
    /// Anything else, by its number.
    Other(u8),
}

impl SymbolKind {
    fn from_info(info: u8) -> SymbolKind {
        match info & 0xf {
            1 => SymbolKind::Object,
            2 => SymbolKind::Function,
            other => SymbolKind::Other(other),
        }
    }
}

/// A word of the image that depends on the address where the image is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relocation {
    /// Address of the word in the image.
    pub address: u64,
    /// What to store there.
    pub kind: RelocationKind,
    /// Symbol value plus addend: the image address whose loaded address is stored.
    pub target: u64,
    /// The symbol it was written against, if any.
    pub symbol: Option<String>,
}

/// The relocation types that loaders of code objects apply. With `L` the loaded address of
/// [`Relocation::target`], that is the target plus the address of the image:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RelocationKind {
    /// `R_AMDGPU_ABS32_LO`: the low 32 bits of `L`.
    Abs32Lo,
    /// `R_AMDGPU_ABS32_HI`: the high 32 bits of `L`.
    Abs32Hi,
    /// `R_AMDGPU_ABS64`: `L`.
    Abs64,
    /// `R_AMDGPU_RELATIVE64`: `L`, where the target is the addend alone.
    Relative64,
}

impl RelocationKind {
    fn from_number(number: u32) -> Option<RelocationKind> {
        match number {
            1 => Some(RelocationKind::Abs32Lo),
            2 => Some(RelocationKind::Abs32Hi),
            3 => Some(RelocationKind::Abs64),
            13 => Some(RelocationKind::Relative64),
            _ => None,
        }
    }

    /// Bytes that the relocation overwrites.
    pub const fn size(self) -> u64 {
        match self {
            RelocationKind::Abs32Lo | RelocationKind::Abs32Hi => 4,
            RelocationKind::Abs64 | RelocationKind::Relative64 => 8,
        }
    }
}

/// What the dynamic segment yields.
#[derive(Default)]
pub(crate) struct Dynamic {
    pub symbols: Vec<Symbol>,
    pub relocations: Vec<Relocation>,
}

/// Reads symbols and relocations; what cannot be read is reported and left out.
pub(crate) fn read_dynamic(
    headers: &[ProgramHeader64<LE>],
    segments: &[Segment],
    problems: &mut Vec<Problem>,
) -> Dynamic {
    let reader = match Reader::new(headers, segments) {
        Ok(reader) => reader,
        Err(problem) => {
            problems.push(problem);
            return Dynamic::default();
        }
    };
    problems.extend(reader.unsupported_entries());
    let entries = reader.symbol_entries().unwrap_or_else(|problem| {
        problems.push(problem);
        &[]
    });
    let all = reader.symbols(entries, problems);
    let relocations = reader.relocations(&all, problems);
    let symbols = all.into_iter().flatten().collect();
    Dynamic { symbols, relocations }
}

/// Tags of the dynamic segment (ELF gABI; `DT_GNU_HASH` is a GNU extension).
mod tag {
    pub const NEEDED: i64 = 1;
    pub const PLTRELSZ: i64 = 2;
    pub const HASH: i64 = 4;
    pub const STRTAB: i64 = 5;
    pub const SYMTAB: i64 = 6;
    pub const RELA: i64 = 7;
    pub const RELASZ: i64 = 8;
    pub const RELAENT: i64 = 9;
    pub const STRSZ: i64 = 10;
    pub const SYMENT: i64 = 11;
    pub const REL: i64 = 17;
    pub const JMPREL: i64 = 23;
    pub const RELR: i64 = 36;
    pub const GNU_HASH: i64 = 0x6fff_fef5;
}

/// Tags whose presence means work that no loader of code objects does.
const UNSUPPORTED: [(i64, &str, &str); 3] = [
    (tag::NEEDED, "DT_NEEDED", "another library"),
    (tag::REL, "DT_REL", "relocations without addends"),
    (tag::RELR, "DT_RELR", "compressed relocations"),
];

struct Reader<'f> {
    segments: &'f [Segment],
    /// First value of each tag.
    entries: BTreeMap<i64, u64>,
    strings: &'f [u8],
}

impl<'f> Reader<'f> {
    fn new(
        headers: &[ProgramHeader64<LE>],
        segments: &'f [Segment],
    ) -> Result<Reader<'f>, Problem> {
        let header = headers.iter().find(|header| header.p_type.get(LE) == PT_DYNAMIC);
        let header = header.ok_or(Problem::NoDynamicSegment)?;
        let (address, size) = (header.p_vaddr.get(LE), header.p_filesz.get(LE));
        let table: &[Dyn64<LE>] = table(segments, "PT_DYNAMIC segment", address, size)?;
        let mut entries = BTreeMap::new();
        for entry in table.iter().take_while(|entry| entry.d_tag.get(LE).0 != 0) {
            entries.entry(entry.d_tag.get(LE).0).or_insert_with(|| entry.d_val.get(LE));
        }
        let mut reader = Reader { segments, entries, strings: &[] };
        let (at, size) =
            (reader.required(tag::STRTAB, "DT_STRTAB")?, reader.required(tag::STRSZ, "DT_STRSZ")?);
        reader.strings = loaded(segments, "dynamic string table", at, size)?;
        Ok(reader)
    }

    fn required(&self, tag: i64, name: &'static str) -> Result<u64, Problem> {
        self.entries.get(&tag).copied().ok_or(Problem::DynamicEntryMissing { tag: name })
    }

    fn unsupported_entries(&self) -> impl Iterator<Item = Problem> {
        let present = UNSUPPORTED.into_iter().filter(|(tag, ..)| self.entries.contains_key(tag));
        present.map(|(_, tag, what)| Problem::DynamicEntryUnsupported { tag, what })
    }

    fn entry_size(&self, tag: i64, name: &'static str, expected: u64) -> Result<(), Problem> {
        match self.required(tag, name)? {
            got if got == expected => Ok(()),
            got => Err(Problem::DynamicEntryValue { tag: name, got, expected }),
        }
    }

    /// The symbol table, whose length only the hash table knows.
    fn symbol_entries(&self) -> Result<&'f [Sym64<LE>], Problem> {
        self.entry_size(tag::SYMENT, "DT_SYMENT", size_of::<Sym64<LE>>() as u64)?;
        let address = self.required(tag::SYMTAB, "DT_SYMTAB")?;
        let size = u64::from(self.symbol_count()?) * size_of::<Sym64<LE>>() as u64;
        table(self.segments, "dynamic symbol table", address, size)
    }

    fn symbol_count(&self) -> Result<u32, Problem> {
        type Elf = FileHeader64<LE>;
        let Some(&address) = self.entries.get(&tag::HASH) else {
            let address = self.required(tag::GNU_HASH, "DT_HASH or DT_GNU_HASH")?;
            let table = tail_at(self.segments, address)
                .and_then(|data| GnuHashTable::<Elf>::parse(LE, data).ok());
            let count = table.and_then(|table| table.symbol_table_length(LE));
            return count.ok_or(Problem::HashTable { address });
        };
        let table =
            tail_at(self.segments, address).and_then(|data| HashTable::<Elf>::parse(LE, data).ok());
        table.map(|table| table.symbol_table_length()).ok_or(Problem::HashTable { address })
    }

    fn string(&self, offset: u32) -> Option<&'f str> {
        let tail = self.strings.get(usize::try_from(offset).ok()?..)?;
        let length = tail.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&tail[..length]).ok()
    }

    /// Symbols by index; the null symbol and broken ones are `None`.
    fn symbols(&self, entries: &[Sym64<LE>], problems: &mut Vec<Problem>) -> Vec<Option<Symbol>> {
        let mut names = std::collections::BTreeSet::new();
        let mut symbols = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let symbol = if index == 0 { Ok(None) } else { self.symbol(index, entry).map(Some) };
            let symbol = symbol.unwrap_or_else(|problem| {
                problems.push(problem);
                None
            });
            let twice = symbol.as_ref().filter(|symbol| !names.insert(symbol.name.clone()));
            problems
                .extend(twice.map(|symbol| Problem::DuplicateSymbol { name: symbol.name.clone() }));
            symbols.push(symbol);
        }
        symbols
    }

    fn symbol(&self, index: usize, entry: &Sym64<LE>) -> Result<Symbol, Problem> {
        let offset = entry.st_name.get(LE);
        let name = self.string(offset).ok_or(Problem::SymbolName { index, offset })?.to_owned();
        let section = entry.st_shndx.get(LE);
        if section == object::elf::SHN_UNDEF {
            return Err(Problem::UndefinedSymbol { name });
        }
        Ok(Symbol {
            name,
            address: entry.st_value.get(LE),
            size: entry.st_size.get(LE),
            kind: SymbolKind::from_info(entry.st_info.0),
            absolute: section == object::elf::SHN_ABS,
        })
    }

    fn relocations(
        &self,
        symbols: &[Option<Symbol>],
        problems: &mut Vec<Problem>,
    ) -> Vec<Relocation> {
        let entries = self.relocation_entries().unwrap_or_else(|problem| {
            problems.push(problem);
            Vec::new()
        });
        let mut relocations = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            match self.relocation(index, entry, symbols) {
                Ok(relocation) => relocations.extend(relocation),
                Err(problem) => problems.push(problem),
            }
        }
        relocations
    }

    fn relocation_entries(&self) -> Result<Vec<&'f Rela64<LE>>, Problem> {
        let mut entries = Vec::new();
        for (address_tag, size_tag, size_name, what) in [
            (tag::RELA, tag::RELASZ, "DT_RELASZ", "relocation table (DT_RELA)"),
            (tag::JMPREL, tag::PLTRELSZ, "DT_PLTRELSZ", "relocation table (DT_JMPREL)"),
        ] {
            let Some(&address) = self.entries.get(&address_tag) else {
                continue;
            };
            if address_tag == tag::RELA {
                self.entry_size(tag::RELAENT, "DT_RELAENT", size_of::<Rela64<LE>>() as u64)?;
            }
            let size = self.required(size_tag, size_name)?;
            entries.extend(table::<Rela64<LE>>(self.segments, what, address, size)?);
        }
        Ok(entries)
    }

    /// A relocation, its symbol resolved; `None` if it does nothing or its symbol was already refused.
    fn relocation(
        &self,
        index: usize,
        entry: &Rela64<LE>,
        symbols: &[Option<Symbol>],
    ) -> Result<Option<Relocation>, Problem> {
        const R_AMDGPU_NONE: u32 = 0;
        let info = entry.r_info.get(LE);
        let (number, symbol_index) = (info as u32, (info >> 32) as u32);
        if number == R_AMDGPU_NONE {
            return Ok(None);
        }
        let kind = RelocationKind::from_number(number)
            .ok_or(Problem::RelocationType { index, got: number })?;
        let address = entry.r_offset.get(LE);
        if !self.segments.iter().any(|segment| segment.contains(address, kind.size())) {
            return Err(Problem::RelocationPlace { index, address, size: kind.size() });
        }
        let out_of_range =
            Problem::RelocationSymbol { index, got: symbol_index, limit: symbols.len() };
        let slot = symbols.get(symbol_index as usize).ok_or(out_of_range)?;
        let symbol = match (kind, symbol_index, slot) {
            (RelocationKind::Relative64, ..) | (_, 0, _) => None,
            (_, _, Some(symbol)) if symbol.absolute => {
                return Err(Problem::RelocationAgainstAbsolute {
                    index,
                    symbol: symbol.name.clone(),
                });
            }
            (_, _, Some(symbol)) => Some(symbol),
            (_, _, None) => return Ok(None),
        };
        let base = symbol.map_or(0, |symbol| symbol.address);
        let target = base.wrapping_add_signed(entry.r_addend.get(LE));
        Ok(Some(Relocation {
            address,
            kind,
            target,
            symbol: symbol.map(|symbol| symbol.name.clone()),
        }))
    }
}

fn loaded<'f>(
    segments: &'f [Segment],
    what: &str,
    address: u64,
    size: u64,
) -> Result<&'f [u8], Problem> {
    bytes_at(segments, address, size).ok_or_else(|| Problem::NotLoaded {
        what: what.to_owned(),
        address,
        size,
    })
}

/// As many whole entries as `size` bytes at `address` hold.
fn table<'f, T: Pod>(
    segments: &'f [Segment],
    what: &str,
    address: u64,
    size: u64,
) -> Result<&'f [T], Problem> {
    let bytes = loaded(segments, what, address, size)?;
    let (entries, _) = slice_from_bytes(bytes, bytes.len() / size_of::<T>())
        .expect("the count is what the bytes hold, and entries are unaligned");
    Ok(entries)
}
