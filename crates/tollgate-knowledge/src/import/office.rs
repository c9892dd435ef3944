//! Workbooks of spreadsheet programs (`.xlsx`, `.ods`): the cells of their first sheet.
//!
//! Only cells are read: no formula is computed (its last value is there), nothing is
//! expanded, and a cell that says it is far away does not make the sheet larger than the
//! bounds.

use std::borrow::Cow;

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

use super::{
    csv::Row,
    zip::{Wrong, Zip},
};

/// The most columns of a sheet that are read.
const MOST_COLUMNS: usize = 500;
/// The most cells that are read, empty ones before others included, and the most texts that
/// cells refer to.
const MOST_CELLS: usize = 2_000_000;
/// The most bytes of text in them.
const MOST_BYTES: usize = 64 << 20;
/// The most bytes of a part with cells or texts, unpacked.
const MOST_PART: u64 = 128 << 20;
/// The most bytes of a part that says where those are.
const MOST_GUIDE: u64 = 16 << 20;
/// What to do when nothing else helps.
const ADVICE: &str = "save it as .xlsx or CSV and import that";

/// The rows of the first sheet that are not empty.
pub(super) fn rows(bytes: &[u8]) -> Result<Vec<Row>, Wrong> {
    if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        return Err(format!(
            "this is a workbook of the old kind, or one with a password; {ADVICE}"
        ));
    }
    let read = Zip::open(bytes).and_then(|zip| match zip.text("xl/workbook.xml", MOST_GUIDE)? {
        Some(workbook) => excel(&zip, &workbook),
        None => match zip.text("content.xml", MOST_PART)? {
            Some(content) => open_document(&content),
            None => Err("there is no sheet in it".to_owned()),
        },
    });
    read.map_err(|wrong| format!("{wrong}; {ADVICE}"))
}

/// One thing in a part.
enum Bit<'a> {
    Open(BytesStart<'a>, bool),
    Close(String),
    Said(String),
}

struct Bits<'a> {
    reader: Reader<&'a [u8]>,
    /// How many elements are open.
    depth: usize,
}

impl<'a> Bits<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            reader: Reader::from_str(text),
            depth: 0,
        }
    }

    fn next(&mut self) -> Result<Option<Bit<'a>>, Wrong> {
        loop {
            let event = self.reader.read_event();
            return Ok(Some(match event.map_err(|error| error.to_string())? {
                Event::Start(start) => {
                    self.depth += 1;
                    Bit::Open(start, false)
                }
                Event::Empty(start) => Bit::Open(start, true),
                Event::End(end) => {
                    // The reader has seen where it began.
                    self.depth = self.depth.saturating_sub(1);
                    Bit::Close(local(end.name().0).to_owned())
                }
                Event::Text(text) => {
                    Bit::Said(text.xml_content(XmlVersion::Implicit1_0).into_owned())
                }
                Event::CData(text) => Bit::Said(text.to_string()),
                Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                    Ok(Some(character)) => Bit::Said(character.to_string()),
                    Ok(None) | Err(_) => match resolve_predefined_entity(&entity) {
                        Some(text) => Bit::Said(text.to_owned()),
                        None => return Err("an entity in it is not known".to_owned()),
                    },
                },
                Event::DocType(_) => return Err("a document type is not read".to_owned()),
                Event::Eof if self.depth > 0 => return Err("a part of it is cut off".to_owned()),
                Event::Eof => return Ok(None),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
            }));
        }
    }
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn named(start: &BytesStart<'_>) -> String {
    local(start.name().0).to_owned()
}

/// An attribute by its name, whatever its prefix.
fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    // To look for doubles takes as long as there are attributes, for each of them.
    let mut all = start.attributes();
    all.with_checks(false);
    let mut all = all.filter_map(Result::ok);
    let found = all.find(|one| local(one.key.0) == name)?;
    let value = found.normalized_value(XmlVersion::Implicit1_0).ok()?;
    Some(value.into_owned())
}

/// Rows as they are found.
#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    /// The row that is being read.
    cells: Vec<String>,
    places: usize,
    bytes: usize,
}

impl Found {
    /// Puts a cell into its column; one that is empty or too far away is left out.
    fn put(&mut self, column: usize, text: &str) -> Result<(), Wrong> {
        let text = text.trim();
        if text.is_empty() || column >= MOST_COLUMNS {
            return Ok(());
        }
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            return Err(format!("the sheet has more than {MOST_BYTES} bytes"));
        }
        if self.cells.len() <= column {
            self.cells.resize(column + 1, String::new());
        }
        self.cells[column] = text.to_owned();
        Ok(())
    }

    /// Ends the row, which is there several times; an empty one is left out.
    fn end_row(&mut self, line: usize, times: usize) -> Result<(), Wrong> {
        let cells = std::mem::take(&mut self.cells);
        if cells.is_empty() {
            return Ok(());
        }
        let (places, bytes) = (cells.len(), cells.iter().map(String::len).sum::<usize>());
        self.places = self.places.saturating_add(places.saturating_mul(times));
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(times - 1));
        if self.places > MOST_CELLS || self.bytes > MOST_BYTES {
            return Err(format!(
                "the sheet has more than {MOST_CELLS} cells or {MOST_BYTES} bytes"
            ));
        }
        for _ in 1..times {
            let cells = cells.clone();
            self.rows.push(Row { line, cells });
        }
        self.rows.push(Row { line, cells });
        Ok(())
    }
}

fn excel(zip: &Zip<'_>, workbook: &str) -> Result<Vec<Row>, Wrong> {
    let links = zip.text("xl/_rels/workbook.xml.rels", MOST_GUIDE)?;
    let links = links_of(&links.unwrap_or_default())?;
    let target = |wanted: &dyn Fn(&Link) -> bool| {
        let link = links.iter().find(|link| wanted(link))?;
        let target = link.target.as_str();
        Some(match target.strip_prefix('/') {
            Some(whole) => whole.to_owned(),
            None => format!("xl/{target}"),
        })
    };
    let first = first_sheet(workbook)?.ok_or("there is no sheet in it")?;
    let sheet = target(&|link| link.id == first);
    let sheet = sheet.unwrap_or_else(|| "xl/worksheets/sheet1.xml".to_owned());
    let strings = target(&|link| link.kind.ends_with("/sharedStrings"));
    let strings = strings.unwrap_or_else(|| "xl/sharedStrings.xml".to_owned());
    let strings = strings_of(&zip.text(&strings, MOST_PART)?.unwrap_or_default())?;
    let sheet = zip.text(&sheet, MOST_PART)?;
    let sheet = sheet.ok_or("its first sheet is missing")?;
    cells_of(&sheet, &strings)
}

struct Link {
    id: String,
    kind: String,
    target: String,
}

fn links_of(text: &str) -> Result<Vec<Link>, Wrong> {
    let (mut bits, mut links) = (Bits::of(text), Vec::new());
    while let Some(bit) = bits.next()? {
        if let Bit::Open(start, _) = bit
            && named(&start) == "Relationship"
        {
            let get = |name| attribute(&start, name).unwrap_or_default();
            links.push(Link {
                id: get("Id"),
                kind: get("Type"),
                target: get("Target"),
            });
        }
    }
    Ok(links)
}

/// The link to the first sheet.
fn first_sheet(workbook: &str) -> Result<Option<String>, Wrong> {
    let mut bits = Bits::of(workbook);
    while let Some(bit) = bits.next()? {
        if let Bit::Open(start, _) = bit
            && named(&start) == "sheet"
        {
            // `sheetId` is a number of its own; the link is the `id` of another vocabulary.
            return Ok(Some(attribute(&start, "id").unwrap_or_default()));
        }
    }
    Ok(None)
}

/// The texts that cells refer to by number.
fn strings_of(text: &str) -> Result<Vec<String>, Wrong> {
    let (mut bits, mut strings) = (Bits::of(text), Vec::new());
    let (mut said, mut is_text, mut is_aside) = (String::new(), false, false);
    while let Some(bit) = bits.next()? {
        match bit {
            Bit::Open(start, is_empty) => match named(&start).as_str() {
                "si" if is_empty => strings.push(String::new()),
                "t" => is_text = !is_empty && !is_aside,
                // How a word is pronounced stands beside it.
                "rPh" => is_aside = !is_empty,
                _ => {}
            },
            Bit::Close(name) => match name.as_str() {
                "si" => strings.push(std::mem::take(&mut said)),
                "t" => is_text = false,
                "rPh" => is_aside = false,
                _ => {}
            },
            Bit::Said(text) if is_text => said.push_str(&text),
            Bit::Said(_) => {}
        }
        if strings.len() > MOST_CELLS {
            return Err(format!("it has more than {MOST_CELLS} texts"));
        }
    }
    Ok(strings)
}

fn cells_of(sheet: &str, strings: &[String]) -> Result<Vec<Row>, Wrong> {
    let (mut bits, mut found) = (Bits::of(sheet), Found::default());
    let (mut line, mut column) = (0_usize, 0_usize);
    let (mut kind, mut said) = (String::new(), String::new());
    let (mut is_value, mut is_aside) = (false, false);
    while let Some(bit) = bits.next()? {
        match bit {
            Bit::Open(start, is_empty) => match named(&start).as_str() {
                "row" => {
                    let number = attribute(&start, "r").and_then(|number| number.parse().ok());
                    line = number.unwrap_or(line.saturating_add(1));
                    column = 0;
                }
                "c" => {
                    let place = attribute(&start, "r").and_then(|place| column_of(&place));
                    column = place.unwrap_or(column);
                    kind = attribute(&start, "t").unwrap_or_default();
                    said.clear();
                    if is_empty {
                        column = column.saturating_add(1);
                    }
                }
                "v" | "t" => is_value = !is_empty && !is_aside,
                "rPh" => is_aside = !is_empty,
                _ => {}
            },
            Bit::Close(name) => match name.as_str() {
                "v" | "t" => is_value = false,
                "rPh" => is_aside = false,
                "c" => {
                    found.put(column, &value(&kind, &said, strings))?;
                    column = column.saturating_add(1);
                }
                "row" => found.end_row(line, 1)?,
                "sheetData" => break,
                _ => {}
            },
            Bit::Said(text) if is_value => said.push_str(&text),
            Bit::Said(_) => {}
        }
    }
    Ok(found.rows)
}

/// What a cell shows.
fn value<'s>(kind: &str, said: &'s str, strings: &'s [String]) -> Cow<'s, str> {
    match kind {
        "s" => {
            let number = said.trim().parse::<usize>().ok();
            let text = number.and_then(|number| strings.get(number));
            text.map_or("", String::as_str).into()
        }
        "b" if said.trim() == "1" => "TRUE".into(),
        "b" => "FALSE".into(),
        // The value of a formula that has none.
        "e" => "".into(),
        "inlineStr" | "str" | "d" => said.into(),
        _ => match said.trim().parse::<f64>() {
            // Numbers are kept with more digits than people typed.
            Ok(number) if number.is_finite() && number.abs() < 1e15 => {
                let digits = 15_usize.saturating_sub(number.abs().max(1.0).log10() as usize + 1);
                let shown = format!("{number:.digits$}");
                let shown = match shown.contains('.') {
                    true => shown.trim_end_matches('0').trim_end_matches('.'),
                    false => &shown,
                };
                shown.to_owned().into()
            }
            Ok(_) | Err(_) => said.into(),
        },
    }
}

/// The number of a column: `A` is the first one, `AA` follows `Z`.
fn column_of(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase);
    let column = letters.fold(0_usize, |sum, letter| {
        sum.saturating_mul(26)
            .saturating_add(usize::from(letter - b'A') + 1)
    });
    column.checked_sub(1)
}

fn open_document(content: &str) -> Result<Vec<Row>, Wrong> {
    let (mut bits, mut found) = (Bits::of(content), Found::default());
    let (mut line, mut rows) = (1_usize, 1);
    let (mut column, mut columns, mut said) = (0_usize, 1, String::new());
    let (mut paragraphs, mut is_said, mut asides) = (0, false, 0);
    let count = |start: &BytesStart<'_>, name: &str| {
        let count = attribute(start, name).and_then(|count| count.parse::<usize>().ok());
        count.unwrap_or(1)
    };
    while let Some(bit) = bits.next()? {
        match bit {
            Bit::Open(start, is_empty) => match named(&start).as_str() {
                "table-row" => {
                    rows = count(&start, "number-rows-repeated");
                    column = 0;
                    if is_empty {
                        line = line.saturating_add(rows);
                    }
                }
                "table-cell" | "covered-table-cell" => {
                    columns = count(&start, "number-columns-repeated");
                    said.clear();
                    paragraphs = 0;
                    if is_empty {
                        column = column.saturating_add(columns);
                    }
                }
                // A remark beside a cell is not what the cell says.
                "annotation" if !is_empty => asides += 1,
                "p" if asides == 0 => {
                    if paragraphs > 0 {
                        said.push('\n');
                    }
                    paragraphs += 1;
                    is_said = !is_empty;
                }
                "s" if is_said => {
                    let spaces = count(&start, "c").min(100);
                    said.extend(std::iter::repeat_n(' ', spaces));
                    if said.len() > MOST_BYTES {
                        return Err(format!("a cell has more than {MOST_BYTES} bytes"));
                    }
                }
                "tab" if is_said => said.push('\t'),
                "line-break" if is_said => said.push('\n'),
                _ => {}
            },
            Bit::Close(name) => match name.as_str() {
                "p" => is_said = false,
                "annotation" => asides -= 1,
                "table-cell" | "covered-table-cell" => {
                    let after = column.saturating_add(columns);
                    for place in column..after.min(MOST_COLUMNS) {
                        found.put(place, &said)?;
                    }
                    column = after;
                }
                "table-row" => {
                    found.end_row(line, rows.max(1))?;
                    line = line.saturating_add(rows);
                }
                "table" => break,
                _ => {}
            },
            Bit::Said(text) if is_said && asides == 0 => said.push_str(&text),
            Bit::Said(_) => {}
        }
    }
    Ok(found.rows)
}

#[cfg(test)]
mod tests;
