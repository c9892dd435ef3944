//! Personal numbers with their checksums, computed here from the published definitions.

use super::{Random, generate};

/// A kind of personal data: its rule, and how to make one in words around it.
pub(crate) struct Personal {
    pub(crate) rule: &'static str,
    pub(crate) make: fn(&mut Random) -> (String, String),
}

/// Each gives the text and the part of it that has to go.
pub(crate) const PERSONAL: &[Personal] = &[
    Personal {
        rule: "email",
        make: email,
    },
    Personal {
        rule: "phone",
        make: phone,
    },
    Personal {
        rule: "payment-card",
        make: card,
    },
    Personal {
        rule: "ssn",
        make: ssn,
    },
    Personal {
        rule: "iban",
        make: iban,
    },
    Personal {
        rule: "cn-id-card",
        make: cn_id_card,
    },
    Personal {
        rule: "passport",
        make: passport,
    },
    Personal {
        rule: "my-number",
        make: my_number,
    },
];

fn around(random: &mut Random, before: &[&str], value: String) -> (String, String) {
    (format!("{}{value}", random.pick(before)), value)
}

fn email(random: &mut Random) -> (String, String) {
    let value = generate(
        "{lower:3-9}.{lower:3-9}@{lower:4-9}.{com,org,de,co.uk,example}",
        random,
    )
    .text;
    around(random, &["write to ", "<", "From: ", "mailto:"], value)
}

fn phone(random: &mut Random) -> (String, String) {
    let forms = [
        "+44 20 79{digit:2} {digit:4}",
        "+1-{2,4,6,8}{digit:2}-{2,5,7}{digit:2}-{digit:4}",
        "(415) 555-{digit:4}",
        "13{digit:9}",
        "+49 30 {digit:8}",
        "+86 138 {digit:4} {digit:4}",
    ];
    let value = generate(random.pick::<&str>(&forms), random).text;
    around(random, &["call ", "phone: ", "Tel. "], value)
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

fn card(random: &mut Random) -> (String, String) {
    let start = generate("{4,51,52,53,54,55}", random).text;
    let body = generate(&format!("{start}{{digit:{}}}", 15 - start.len()), random).text;
    let sum: u32 = digits(&body)
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match (place % 2, digit * 2) {
            (0, double @ 10..) => double - 9,
            (0, double) => double,
            _ => digit,
        })
        .sum();
    let whole = format!("{body}{}", (10 - sum % 10) % 10);
    let groups: Vec<&str> = [0, 4, 8, 12].map(|at| &whole[at..at + 4]).to_vec();
    let value = groups.join(random.pick::<&str>(&["", " ", "-"]));
    around(random, &["card ", "PAN: ", "paid with "], value)
}

fn ssn(random: &mut Random) -> (String, String) {
    let area = random.between(100, 665);
    let (group, serial) = (random.between(10, 99), random.between(1000, 9999));
    match random.below(3) {
        0 => around(random, &["id ", "SSN "], format!("{area}-{group}-{serial}")),
        1 => around(
            random,
            &["SSN ", "social security number: ", "SSN: "],
            format!("{area} {group} {serial}"),
        ),
        _ => around(
            random,
            &["SSN ", "social security no. ", "ssn="],
            format!("{area}{group}{serial}"),
        ),
    }
}

fn iban(random: &mut Random) -> (String, String) {
    let (country, form) = *random.pick(&[
        ("DE", "{digit:18}"),
        ("GB", "WEST{digit:14}"),
        ("FR", "{digit:23}"),
        ("NL", "ABNA{digit:10}"),
    ]);
    let account = generate(form, random).text;
    let number = format!("{account}{country}00")
        .chars()
        .fold(0_u32, |rest, c| {
            let value = c.to_digit(36).expect("a letter or digit");
            (rest * if value > 9 { 100 } else { 10 } + value) % 97
        });
    let whole = format!("{country}{:02}{account}", 98 - number);
    let value = if random.below(2) == 0 {
        whole
    } else {
        whole
            .as_bytes()
            .chunks(4)
            .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    around(random, &["IBAN ", "to account ", "pay "], value)
}

fn cn_id_card(random: &mut Random) -> (String, String) {
    let body = format!(
        "{}{}{:02}{:02}{:03}",
        random.pick(&["110105", "310104", "440305", "510107"]),
        random.between(1950, 2005),
        random.between(1, 12),
        random.between(1, 28),
        random.below(1000)
    );
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let sum: u32 = digits(&body)
        .iter()
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .sum();
    let check = ["1", "0", "X", "9", "8", "7", "6", "5", "4", "3", "2"][sum as usize % 11];
    around(
        random,
        &["身份证", "身份证号：", "ID "],
        format!("{body}{check}"),
    )
}

fn passport(random: &mut Random) -> (String, String) {
    let forms = [
        "{upper:1}{digit:8}",
        "{digit:9}",
        "E{digit:8}",
        "{upper:2}{digit:7}",
        "C{digit:7}{upper:1}",
    ];
    let value = generate(random.pick::<&str>(&forms), random).text;
    around(
        random,
        &[
            "passport no. ",
            "Passport number: ",
            "passport: ",
            "护照号码：",
            "passport ",
        ],
        value,
    )
}

fn my_number(random: &mut Random) -> (String, String) {
    let body = generate("{1,2,3,4,5,6,7,8,9}{digit:10}", random).text;
    // The published check digit: 11 - (sum of digit x weight mod 11), weights 2 to 7 and 2 to 6 from the right.
    let sum: u32 = digits(&body)
        .iter()
        .rev()
        .zip([2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6])
        .map(|(digit, weight)| digit * weight)
        .sum();
    let check = match sum % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    };
    let whole = format!("{body}{check}");
    let value = if random.below(2) == 0 {
        whole
    } else {
        format!("{} {} {}", &whole[..4], &whole[4..8], &whole[8..])
    };
    around(
        random,
        &["マイナンバー ", "My Number: ", "個人番号：", "MyNumber "],
        value,
    )
}
