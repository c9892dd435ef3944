//! Workbooks as the programs write them, and as nobody should.

use std::io::Write as _;

use flate2::{Compression, Crc, write::DeflateEncoder};

use super::super::*;

/// A packed file; every second part is deflated.
fn packed(parts: &[(&str, &str)]) -> Vec<u8> {
    let (mut file, mut list) = (Vec::new(), Vec::new());
    for ((name, text), at) in parts.iter().zip(0_u16..) {
        let method = if at % 2 == 1 { 8_u16 } else { 0 };
        let body = match method {
            0 => text.as_bytes().to_vec(),
            _ => {
                let mut out = DeflateEncoder::new(Vec::new(), Compression::default());
                out.write_all(text.as_bytes()).unwrap();
                out.finish().unwrap()
            }
        };
        let place = u32::try_from(file.len()).unwrap();
        let length = u32::try_from(body.len()).unwrap();
        let size = u32::try_from(text.len()).unwrap();
        let name_length = u16::try_from(name.len()).unwrap();
        let mut checksum = Crc::new();
        checksum.update(text.as_bytes());
        let common = |out: &mut Vec<u8>| {
            out.extend([20, 0, 0, 0]);
            out.extend(method.to_le_bytes());
            out.extend([0; 4]);
            out.extend(checksum.sum().to_le_bytes());
            out.extend(length.to_le_bytes());
            out.extend(size.to_le_bytes());
            out.extend(name_length.to_le_bytes());
            out.extend([0; 2]);
        };
        file.extend(*b"PK\x03\x04");
        common(&mut file);
        file.extend(name.as_bytes());
        file.extend(body);
        list.extend(*b"PK\x01\x02");
        list.extend([20, 0]);
        common(&mut list);
        list.extend([0; 10]);
        list.extend(place.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let (count, place) = (u16::try_from(parts.len()).unwrap(), file.len());
    let length = list.len();
    file.extend(list);
    file.extend(*b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(u32::try_from(length).unwrap().to_le_bytes());
    file.extend(u32::try_from(place).unwrap().to_le_bytes());
    file.extend([0; 2]);
    file
}

const WORKBOOK: &str = r#"<?xml version="1.0"?><workbook xmlns:r="x"><sheets>
    <sheet name="Questions" sheetId="7" r:id="rId9"/><sheet name="Other" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const LINKS: &str = r#"<Relationships>
    <Relationship Id="rId1" Type="t/worksheet" Target="worksheets/sheet1.xml"/>
    <Relationship Id="rId9" Type="t/worksheet" Target="/xl/worksheets/sheet2.xml"/>
    <Relationship Id="rId3" Type="t/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#;

fn workbook(strings: &str, rows: &str) -> Vec<u8> {
    packed(&[
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", LINKS),
        ("xl/sharedStrings.xml", strings),
        ("xl/worksheets/sheet1.xml", "<worksheet/>"),
        (
            "xl/worksheets/sheet2.xml",
            &format!(
                "<worksheet><sheetData>{rows}</sheetData><x><row><c><v>1</v></c></row></x></worksheet>"
            ),
        ),
    ])
}

fn rows_of(bytes: &[u8]) -> Vec<(usize, Vec<String>)> {
    let rows = office::rows(bytes).unwrap();
    rows.into_iter().map(|row| (row.line, row.cells)).collect()
}

fn wrong(bytes: &[u8]) -> String {
    let problems = import("q.xlsx", bytes.to_vec(), ImportFormat::Workbook).unwrap_err();
    problems[0].to_string()
}

#[test]
fn cells_of_every_kind_come_out_as_they_are_shown() {
    let strings = "<sst><si><t>question</t></si><si><r><t>Is it </t></r><r><t xml:space=\"preserve\">on &amp; off&#33;</t></r><rPh><t>no</t></rPh></si><si/></sst>";
    let rows = r#"
        <row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c><c r="C1" t="s"><v>0</v></c></row>
        <row r="3"><c t="b"><v>1</v></c><c r="B3" s="1"/><c><v>2.5000000000000001E-1</v></c><c t="e"><v>#N/A</v></c><c t="str"><f>A1</f><v>made</v></c></row>
        <row><c><v>12</v></c><c/><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="s"><v>99</v></c></row>
        <row r="9"><c r="ZZZ9"><v>1</v></c><c r="A9"><v> </v></c></row>"#;
    let cells = |cells: &[&str]| {
        cells
            .iter()
            .map(|cell| (*cell).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        rows_of(&workbook(strings, rows)),
        [
            (1, cells(&["id", "", "question"])),
            (3, cells(&["TRUE", "", "0.25", "", "made"])),
            (4, cells(&["12", "", "Is it on & off!"])),
        ]
    );
}

#[test]
fn a_workbook_becomes_the_base_that_its_csv_becomes() {
    let row = |line: usize, cells: &[&str]| {
        let cell = |text: &&str| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
        let cells: String = cells.iter().map(cell).collect();
        format!("<row r=\"{line}\">{cells}</row>")
    };
    let sheet = [
        ["id", "question", "option", "next"],
        ["a", "Is the light on?", "Yes", "b"],
        ["", "", "No", "c"],
        ["b", "All is well.", "", ""],
        ["c", "Plug it in.", "", ""],
    ];
    let rows: String = sheet
        .iter()
        .zip(1..)
        .map(|(cells, at)| row(at, cells))
        .collect();
    let csv = sheet.map(|cells| cells.join(",")).join("\n");
    let ods: String = sheet
        .iter()
        .map(|cells| {
            let cell = |text: &&str| match *text {
                "" => "<table:table-cell/>".to_owned(),
                text => format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>"),
            };
            let cells: String = cells.iter().map(cell).collect();
            format!("<table:table-row>{cells}</table:table-row>")
        })
        .collect();
    let ods = format!(
        "<office:document-content xmlns:office=\"o\" xmlns:table=\"t\" xmlns:text=\"x\"><table:table>{ods}<table:table-row table:number-rows-repeated=\"1048576\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row></table:table><table:table><table:table-row><table:table-cell><text:p>other</text:p></table:table-cell></table:table-row></table:table></office:document-content>"
    );
    let wanted = import("q", csv.into_bytes(), ImportFormat::Csv).unwrap();
    assert_eq!((wanted.nodes, wanted.options), (3, 2));
    for bytes in [
        workbook("<sst/>", &rows),
        packed(&[("mimetype", "application/x"), ("content.xml", &ods)]),
    ] {
        assert_eq!(import("q", bytes, ImportFormat::Workbook).unwrap(), wanted);
    }
}

#[test]
fn cells_of_an_open_document_are_read_with_their_repeats() {
    let content = r#"<d><table><table-row number-rows-repeated="2"><table-cell number-columns-repeated="2"><annotation><p>remark</p></annotation><p>a<s c="2"/>b</p><p>c<line-break/>d</p></table-cell><table-cell number-columns-repeated="3"/><table-cell><p>end</p></table-cell></table-row>
      <table-row number-rows-repeated="5"/><table-row><covered-table-cell/><table-cell><p>x</p></table-cell></table-row></table></d>"#;
    let rows = rows_of(&packed(&[("content.xml", content)]));
    let first = ["a  b\nc\nd", "a  b\nc\nd", "", "", "", "end"].map(str::to_owned);
    assert_eq!(rows[0], (1, first.to_vec()));
    assert_eq!(rows[1], (1, first.to_vec()));
    assert_eq!(rows[2], (8, vec![String::new(), "x".to_owned()]));
}

#[test]
fn what_cannot_be_read_says_what_to_do() {
    let whole = workbook("<sst/>", "<row><c><v>1</v></c></row>");
    // The last two bytes only say that no remark follows.
    for length in 0..whole.len() - 2 {
        let told = wrong(&whole[..length]);
        assert!(told.contains("save it as .xlsx or CSV"), "{length}: {told}");
    }
    assert!(
        wrong(&[0xd0, 0xcf, 0x11, 0xe0, 1]).contains("of the old kind, or one with a password")
    );
    assert!(wrong(&packed(&[("readme", "x")])).contains("no sheet in it"));
    let mut locked = whole.clone();
    for at in 0..locked.len() - 4 {
        if locked[at..at + 4] == *b"PK\x01\x02" {
            locked[at + 8] |= 1;
        }
    }
    assert!(wrong(&locked).contains("password"));
    let grows = "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><worksheet>&b;</worksheet>";
    let parts = [
        ("xl/workbook.xml", WORKBOOK),
        ("xl/worksheets/sheet1.xml", grows),
    ];
    assert!(wrong(&packed(&parts)).contains("document type"));
    // A sheet without names of columns is told like a CSV without them.
    assert!(wrong(&whole).contains("the first row must name the columns"));
}

#[test]
fn a_small_file_cannot_fill_the_memory() {
    // One text, in every cell of very many rows.
    let content = format!(
        "<d><table><table-row number-rows-repeated=\"99999999\"><table-cell number-columns-repeated=\"99999999\"><p>{}</p></table-cell></table-row></table></d>",
        "x".repeat(1000)
    );
    assert!(wrong(&packed(&[("content.xml", &content)])).contains("has more than"));
    let strings = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(1 << 20));
    let row = format!("<row>{}</row>", "<c t=\"s\"><v>0</v></c>".repeat(200));
    assert!(wrong(&workbook(&strings, &row)).contains("has more than"));
    // A cell far to the right in each of many rows.
    let row = "<row><c r=\"SF1\"><v>1</v></c></row>".repeat(5000);
    assert!(wrong(&workbook("<sst/>", &row)).contains("has more than"));
    // Parts that unpack to far more than they are.
    let long = " ".repeat(100_000);
    let bytes = packed(&[("a", ""), ("b", &long)]);
    assert!(bytes.len() < 2000);
    let zip = zip::Zip::open(&bytes).unwrap();
    assert_eq!(zip.text("b", 100_000).unwrap().unwrap().len(), long.len());
    let error = zip.text("b", 99_999).unwrap_err();
    assert_eq!(error, "`b` has more than 99999 bytes");
    // Spaces that are only counted, and texts that say nothing.
    let content = format!(
        "<d><table><table-row><table-cell><p>{}</p></table-cell></table-row></table></d>",
        "<s c=\"999\"/>".repeat(700_000)
    );
    assert!(wrong(&packed(&[("content.xml", &content)])).contains("a cell has more than"));
    let strings = format!("<sst>{}</sst>", "<si/>".repeat(2_000_001));
    assert!(wrong(&workbook(&strings, "")).contains("has more than 2000000 texts"));
}

#[test]
fn one_element_with_very_many_attributes_is_read_in_one_go() {
    let many: String = (0..400_000).map(|at| format!(" a{at}=\"1\"")).collect();
    let row = format!("<row{many} r=\"7\"><c><v>1</v></c></row>");
    assert_eq!(
        rows_of(&workbook("<sst/>", &row)),
        [(7, vec!["1".to_owned()])]
    );
}

#[test]
fn places_beyond_all_counting_are_only_far_away() {
    let most = usize::MAX;
    let far = "Z".repeat(40);
    let rows = format!(
        "<row r=\"{most}\"><c r=\"{far}1\"/><c/><c r=\"{far}1\"><v>1</v></c><c><v>2</v></c><c r=\"A1\"><v>3</v></c></row><row><c><v>4</v></c></row>"
    );
    let cell = |text: &str| vec![text.to_owned()];
    assert_eq!(
        rows_of(&workbook("<sst/>", &rows)),
        [(most, cell("3")), (most, cell("4"))]
    );
    let content = format!(
        "<d><table><table-row number-rows-repeated=\"{most}\"/><table-row><table-cell number-columns-repeated=\"{most}\"/><table-cell number-columns-repeated=\"{most}\"><p>far</p></table-cell></table-row><table-row number-rows-repeated=\"0\"><table-cell number-columns-repeated=\"0\"><p>no</p></table-cell><table-cell><p>x</p></table-cell></table-row></table></d>"
    );
    let rows = rows_of(&packed(&[("content.xml", &content)]));
    assert_eq!(rows, [(most, cell("x"))]);
}

#[test]
fn what_is_damaged_inside_is_not_taken_for_a_sheet() {
    let mut stored = packed(&[
        ("xl/workbook.xml", WORKBOOK),
        ("other", ""),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet><sheetData><row><c><v>12345</v></c></row></sheetData></worksheet>",
        ),
    ]);
    assert_eq!(rows_of(&stored), [(1, vec!["12345".to_owned()])]);
    let at = stored.windows(5).position(|five| five == b"12345").unwrap();
    // It is not packed, so only its checksum knows.
    stored[at] = b'9';
    assert!(wrong(&stored).contains("cut off or damaged"));
    // Whole as a file, but its sheet ends in the middle.
    for cut in [
        "<worksheet><sheetData><row><c><v>1</v></c></row>",
        "<worksheet><sheetData><row><c><v>1</v>",
        "<worksheet><sheetData><row><c></row>",
        "<worksheet><sheetData><row",
        "<worksheet>&lol;</worksheet>",
    ] {
        let parts = [
            ("xl/workbook.xml", WORKBOOK),
            ("xl/worksheets/sheet1.xml", cut),
        ];
        let told = wrong(&packed(&parts));
        assert!(told.contains("save it as .xlsx or CSV"), "{cut}: {told}");
    }
    let cut = "<d><table><table-row><table-cell><p>id</p></table-cell></table-row>";
    assert!(wrong(&packed(&[("content.xml", cut)])).contains("is cut off"));
    // No name of a part leads out of the file.
    for target in ["../../../etc/passwd", "/etc/passwd", "file:///etc/passwd"] {
        let links = LINKS.replace("/xl/worksheets/sheet2.xml", target);
        let parts = [
            ("xl/workbook.xml", WORKBOOK),
            ("xl/_rels/workbook.xml.rels", &links),
        ];
        assert!(wrong(&packed(&parts)).contains("its first sheet is missing"));
    }
}
