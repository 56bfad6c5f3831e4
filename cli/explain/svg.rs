//! Pictures: a value over the instructions of the code, from the first at the left to the last at the right.

use std::fmt::Write;

use super::{Explained, View};

/// Size of the plot, in pixels, and of the margins around it.
const PLOT: (f64, f64) = (960.0, 320.0);
const MARGIN: (f64, f64) = (56.0, 48.0);

/// A line of the picture.
struct Curve {
    name: &'static str,
    colour: &'static str,
    heights: Vec<u32>,
}

/// The picture of a view.
pub fn draw(explained: &Explained) -> String {
    let curve = |name, colour, heights| Curve { name, colour, heights };
    let (what, curves) = match &explained.view {
        View::Registers(view) => {
            let of = |file: fn(&super::Counts) -> u32| view.places.iter().map(file).collect();
            let curves = vec![
                curve("VGPRs", "#1f77b4", of(|place| place.vgprs)),
                curve("SGPRs", "#d62728", of(|place| place.sgprs)),
                curve("AGPRs", "#2ca02c", of(|place| place.agprs)),
            ];
            ("live registers", curves)
        }
        View::Schedule(view) => {
            ("issue slots stalled (modelled)", vec![curve("stalls", "#1f77b4", view.slots.clone())])
        }
    };
    let curves: Vec<Curve> =
        curves.into_iter().filter(|curve| curve.heights.iter().any(|height| *height > 0)).collect();
    picture(&format!("{} ({}): {what}", explained.kernel, explained.target), &curves)
}

fn picture(title: &str, curves: &[Curve]) -> String {
    let (width, height) = (PLOT.0 + 2.0 * MARGIN.0, PLOT.1 + 2.0 * MARGIN.1);
    let top = curves.iter().flat_map(|curve| &curve.heights).max().copied().unwrap_or(0).max(1);
    let count = curves.iter().map(|curve| curve.heights.len()).max().unwrap_or(0).max(1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(words)
        );
    };
    let (left, bottom) = (MARGIN.0, MARGIN.1 + PLOT.1);
    text(left, 20.0, "start", title);
    text(left - 6.0, MARGIN.1 + 4.0, "end", &top.to_string());
    text(left - 6.0, bottom + 4.0, "end", "0");
    text(left, bottom + 18.0, "start", "first instruction");
    text(left + PLOT.0, bottom + 18.0, "end", &format!("instruction {count}"));
    for (at, curve) in curves.iter().enumerate() {
        text(left + 90.0 * at as f64 + 14.0, 38.0, "start", curve.name);
    }
    for (at, curve) in curves.iter().enumerate() {
        let _ = writeln!(
            out,
            "<rect x=\"{:.0}\" y=\"30\" width=\"10\" height=\"8\" fill=\"{}\"/>\n\
             <polyline fill=\"none\" stroke=\"{}\" points=\"{}\"/>",
            left + 90.0 * at as f64,
            curve.colour,
            curve.colour,
            points(&curve.heights, top, count)
        );
    }
    let (right, roof) = (left + PLOT.0, MARGIN.1);
    let _ = writeln!(
        out,
        "<path d=\"M{left} {roof} V{bottom} H{right}\" fill=\"none\" stroke=\"#000000\"/>\n</svg>"
    );
    out
}

/// A step an instruction; runs of equal heights are one line.
fn points(heights: &[u32], top: u32, count: usize) -> String {
    let x = |at: usize| MARGIN.0 + PLOT.0 * at as f64 / count as f64;
    let y = |height: u32| MARGIN.1 + PLOT.1 * (1.0 - f64::from(height) / f64::from(top));
    let mut out = String::new();
    for (at, height) in heights.iter().enumerate() {
        let same = at > 0 && heights[at - 1] == *height;
        if !same {
            let _ = write!(out, "{:.1},{:.1} ", x(at), y(*height));
        }
        if heights.get(at + 1) != Some(height) {
            let _ = write!(out, "{:.1},{:.1} ", x(at + 1), y(*height));
        }
    }
    out.trim_end().to_owned()
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
