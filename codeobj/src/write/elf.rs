//! The ELF file around a kernel.

use isa::Target;
use object::elf::{self, Dyn64, FileHeader64, Ident, ProgramHeader64, SectionHeader64, Sym64};
use object::endian::{I64, LittleEndian as LE, U16, U32, U64};
use object::pod::bytes_of;

use crate::descriptor::{DESCRIPTOR_ALIGN, DESCRIPTOR_BYTES, ENTRY_ALIGN};
use crate::identity::AbiVersion;

/// Segments of different access are on different pages.
const PAGE: u64 = 0x1000;
const PROGRAM_HEADERS: u64 = 6;
const SYMBOL_BYTES: u64 = 24;
/// The null symbol, the function, the descriptor.
const SYMBOLS: u64 = 3;
const DYNAMIC_ENTRIES: u64 = 6;
/// `EM_AMDGPU`.
const MACHINE: u16 = 224;
/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI: u8 = 64;
/// Section names, in the order of the sections; the null section has the empty name at 0.
const SECTIONS: [&str; 9] =
    ["", ".note", ".dynsym", ".hash", ".dynstr", ".rodata", ".text", ".dynamic", ".shstrtab"];

/// Where everything lies. Addresses and file offsets are the same numbers.
pub struct Layout {
    name: String,
    note: (u64, u64),
    dynsym: u64,
    hash: u64,
    dynstr: u64,
    descriptor: u64,
    code: (u64, u64),
    dynamic: u64,
}

impl Layout {
    /// The layout of a kernel of this name, note and code size in bytes.
    pub fn new(name: &str, note: &[u8], code_bytes: usize) -> Layout {
        let headers = size_of::<FileHeader64<LE>>() as u64;
        let first = headers + PROGRAM_HEADERS * size_of::<ProgramHeader64<LE>>() as u64;
        let dynsym = (first + note.len() as u64).next_multiple_of(8);
        let hash = dynsym + SYMBOLS * SYMBOL_BYTES;
        let dynstr = hash + hash_table().len() as u64;
        let strings = strings(name).len() as u64;
        let descriptor = (dynstr + strings).next_multiple_of(DESCRIPTOR_ALIGN);
        let code = (descriptor + DESCRIPTOR_BYTES).next_multiple_of(PAGE.max(ENTRY_ALIGN));
        Layout {
            name: name.to_owned(),
            note: (first, note.len() as u64),
            dynsym,
            hash,
            dynstr,
            descriptor,
            code: (code, code_bytes as u64),
            dynamic: (code + code_bytes as u64).next_multiple_of(PAGE),
        }
    }

    /// From the descriptor to the first instruction, in bytes.
    pub fn entry_byte_offset(&self) -> i64 {
        (self.code.0 - self.descriptor) as i64
    }

    /// The file.
    pub fn write(&self, target: Target, note: &[u8], descriptor: &[u8], code: &[u8]) -> Vec<u8> {
        let names = self.section_names();
        let section_headers = (names.0 + names.1.len() as u64).next_multiple_of(8);
        let mut file = Vec::with_capacity(section_headers as usize + 0x400);
        file.extend(bytes_of(&self.file_header(target, section_headers)));
        self.program_headers().iter().for_each(|header| file.extend(bytes_of(header)));
        let mut place = |at: u64, bytes: &[u8]| {
            file.resize(at as usize, 0);
            file.extend(bytes);
        };
        place(self.note.0, note);
        place(self.dynsym, &self.symbols());
        place(self.hash, &hash_table());
        place(self.dynstr, &strings(&self.name));
        place(self.descriptor, descriptor);
        place(self.code.0, code);
        place(self.dynamic, &self.dynamic_entries());
        place(names.0, &names.1);
        file.resize(section_headers as usize, 0);
        self.section_headers().iter().for_each(|header| file.extend(bytes_of(header)));
        file
    }

    fn file_header(&self, target: Target, section_headers: u64) -> FileHeader64<LE> {
        FileHeader64 {
            e_ident: Ident {
                magic: elf::ELFMAG,
                class: elf::ELFCLASS64,
                data: elf::ELFDATA2LSB,
                version: elf::EV_CURRENT,
                os_abi: elf::OsAbi(OS_ABI),
                abi_version: AbiVersion::V5.byte(),
                padding: [0; 7],
            },
            e_type: U16::new(LE, elf::ET_DYN),
            e_machine: U16::new(LE, elf::Machine(MACHINE)),
            e_version: U32::new(LE, 1),
            e_entry: U64::new(LE, 0),
            e_phoff: U64::new(LE, size_of::<FileHeader64<LE>>() as u64),
            e_shoff: U64::new(LE, section_headers),
            e_flags: U32::new(LE, elf::FileFlags(target.limits().elf_flags)),
            e_ehsize: U16::new(LE, size_of::<FileHeader64<LE>>() as u16),
            e_phentsize: U16::new(LE, size_of::<ProgramHeader64<LE>>() as u16),
            e_phnum: U16::new(LE, PROGRAM_HEADERS as u16),
            e_shentsize: U16::new(LE, size_of::<SectionHeader64<LE>>() as u16),
            e_shnum: U16::new(LE, SECTIONS.len() as u16),
            e_shstrndx: U16::new(LE, elf::SymbolSection(SECTIONS.len() as u16 - 1)),
        }
    }

    fn program_headers(&self) -> [ProgramHeader64<LE>; PROGRAM_HEADERS as usize] {
        let (read, execute, write) = (elf::PF_R, elf::PF_R | elf::PF_X, elf::PF_R | elf::PF_W);
        let read_only = (0, self.descriptor + DESCRIPTOR_BYTES);
        let dynamic = (self.dynamic, DYNAMIC_ENTRIES * size_of::<Dyn64<LE>>() as u64);
        [
            program_header(elf::PT_LOAD, read, read_only, PAGE),
            program_header(elf::PT_LOAD, execute, self.code, PAGE),
            program_header(elf::PT_LOAD, write, dynamic, PAGE),
            program_header(elf::PT_DYNAMIC, write, dynamic, 8),
            program_header(elf::PT_GNU_STACK, write, (0, 0), 1),
            program_header(elf::PT_NOTE, read, self.note, 4),
        ]
    }

    fn symbols(&self) -> Vec<u8> {
        let (function, descriptor) = (1, 1 + self.name.len() as u32 + 1);
        let symbol = |name, kind, section: u16, (address, size)| Sym64::<LE> {
            st_name: U32::new(LE, name),
            st_info: elf::SymbolInfo(kind),
            st_other: elf::SymbolOther(3),
            st_shndx: U16::new(LE, elf::SymbolSection(section)),
            st_value: U64::new(LE, address),
            st_size: U64::new(LE, size),
        };
        // Bindings and kinds: STB_GLOBAL with STT_FUNC and STT_OBJECT; visibility STV_PROTECTED.
        let defined = [
            symbol(function, 0x12, 6, self.code),
            symbol(descriptor, 0x11, 5, (self.descriptor, DESCRIPTOR_BYTES)),
        ];
        let mut bytes = vec![0; SYMBOL_BYTES as usize];
        defined.iter().for_each(|symbol| bytes.extend(bytes_of(symbol)));
        bytes
    }

    fn dynamic_entries(&self) -> Vec<u8> {
        let entries = [
            (elf::DT_SYMTAB, self.dynsym),
            (elf::DT_SYMENT, SYMBOL_BYTES),
            (elf::DT_STRTAB, self.dynstr),
            (elf::DT_STRSZ, strings(&self.name).len() as u64),
            (elf::DT_HASH, self.hash),
            (elf::DT_NULL, 0),
        ];
        let mut bytes = Vec::new();
        for (tag, value) in entries {
            let entry = Dyn64::<LE> { d_tag: I64::new(LE, tag), d_val: U64::new(LE, value) };
            bytes.extend(bytes_of(&entry));
        }
        bytes
    }

    /// Offset and bytes of the section names.
    fn section_names(&self) -> (u64, Vec<u8>) {
        let at = self.dynamic + DYNAMIC_ENTRIES * size_of::<Dyn64<LE>>() as u64;
        (at, SECTIONS.iter().flat_map(|name| name.bytes().chain([0])).collect())
    }

    fn section_headers(&self) -> [SectionHeader64<LE>; SECTIONS.len()] {
        let (alloc, code) = (elf::SHF_ALLOC, elf::SHF_ALLOC | elf::SHF_EXECINSTR);
        let dynsym = (self.dynsym, SYMBOLS * SYMBOL_BYTES);
        let hash = (self.hash, self.dynstr - self.hash);
        let dynstr = (self.dynstr, strings(&self.name).len() as u64);
        let descriptor = (self.descriptor, DESCRIPTOR_BYTES);
        let dynamic = (self.dynamic, DYNAMIC_ENTRIES * size_of::<Dyn64<LE>>() as u64);
        let names = self.section_names();
        let names = (names.0, names.1.len() as u64);
        let none = elf::SectionFlags(0);
        [
            section(0, elf::SHT_NULL, none, (0, 0), [0, 0, 0, 0]),
            section(1, elf::SHT_NOTE, alloc, self.note, [0, 0, 4, 0]),
            section(2, elf::SHT_DYNSYM, alloc, dynsym, [4, 1, 8, SYMBOL_BYTES]),
            section(3, elf::SHT_HASH, alloc, hash, [2, 0, 4, 4]),
            section(4, elf::SHT_STRTAB, alloc, dynstr, [0, 0, 1, 0]),
            section(5, elf::SHT_PROGBITS, alloc, descriptor, [0, 0, DESCRIPTOR_ALIGN, 0]),
            section(6, elf::SHT_PROGBITS, code, self.code, [0, 0, ENTRY_ALIGN, 0]),
            section(7, elf::SHT_DYNAMIC, alloc | elf::SHF_WRITE, dynamic, [4, 0, 8, 16]),
            section(8, elf::SHT_STRTAB, none, names, [0, 0, 1, 0]),
        ]
    }
}

fn program_header(
    kind: elf::ProgramType,
    flags: elf::ProgramFlags,
    (at, size): (u64, u64),
    align: u64,
) -> ProgramHeader64<LE> {
    ProgramHeader64 {
        p_type: U32::new(LE, kind),
        p_flags: U32::new(LE, flags),
        p_offset: U64::new(LE, at),
        p_vaddr: U64::new(LE, at),
        p_paddr: U64::new(LE, at),
        p_filesz: U64::new(LE, size),
        p_memsz: U64::new(LE, size),
        p_align: U64::new(LE, align),
    }
}

/// `rest` is link, info, alignment, size of an entry.
fn section(
    index: usize,
    kind: elf::SectionType,
    flags: elf::SectionFlags,
    (at, size): (u64, u64),
    rest: [u64; 4],
) -> SectionHeader64<LE> {
    let name: usize = SECTIONS[..index].iter().map(|name| name.len() + 1).sum();
    let is_loaded = flags.0 & elf::SHF_ALLOC.0 != 0;
    SectionHeader64 {
        sh_name: U32::new(LE, name as u32),
        sh_type: U32::new(LE, kind),
        sh_flags: U64::new(LE, flags),
        sh_addr: U64::new(LE, if is_loaded { at } else { 0 }),
        sh_offset: U64::new(LE, at),
        sh_size: U64::new(LE, size),
        sh_link: U32::new(LE, rest[0] as u32),
        sh_info: U32::new(LE, rest[1] as u32),
        sh_addralign: U64::new(LE, rest[2]),
        sh_entsize: U64::new(LE, rest[3]),
    }
}

/// `.dynstr`: the function's name and the descriptor's.
fn strings(name: &str) -> Vec<u8> {
    format!("\0{name}\0{name}.kd\0").into_bytes()
}

/// `.hash` with a single bucket: a chain through both symbols.
fn hash_table() -> Vec<u8> {
    let words = [1, SYMBOLS as u32, 1, 0, 2, 0];
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}
