//! Reads the products of the usual answer in one pass over its bytes, and leaves every other to the plain way.

use super::{Numbers, Product};
use crate::scan::Cursor;

/// The levels around a field: the answer, its products, the product.
const AROUND: usize = 3;

/// All products of an answer, or nothing if it takes the plain way to read them.
pub(super) fn read(body: &str) -> Option<Vec<Product>> {
    let mut cursor = Cursor::new(body);
    let mut found = None;
    cursor.object(|cursor, name| match (name, &found) {
        ("products", None) => {
            found = Some(products(cursor)?);
            Some(())
        }
        // Twice the same is an error.
        ("products", Some(_)) => None,
        _ => cursor.skip(),
    })?;
    cursor.is_at_end().then(|| found.unwrap_or_default())
}

fn products(cursor: &mut Cursor<'_>) -> Option<Vec<Product>> {
    let mut all = Vec::new();
    cursor.list(|cursor| {
        if !cursor.null() {
            all.push(product(cursor)?);
        }
        Some(())
    })?;
    Some(all)
}

fn product(cursor: &mut Cursor<'_>) -> Option<Product> {
    let mut read = Product::default();
    cursor.object(|cursor, name| {
        if name == "csv" {
            read.csv = histories(cursor)?;
        } else {
            let value = cursor.value(AROUND)?;
            read.fields.insert(name.to_owned(), value);
        }
        Some(())
    })?;
    Some(read)
}

fn histories(cursor: &mut Cursor<'_>) -> Option<Option<Vec<Option<Numbers>>>> {
    if cursor.null() {
        return Some(None);
    }
    let mut room = Vec::new();
    let mut all = Vec::new();
    cursor.list(|cursor| {
        all.push(if cursor.null() {
            None
        } else {
            Some(history(cursor, &mut room)?)
        });
        Some(())
    })?;
    Some(Some(all))
}

/// One history. The room is shared, so that what is kept is as long as the history and
/// nothing is left over from growing.
fn history(cursor: &mut Cursor<'_>, room: &mut Vec<i32>) -> Option<Numbers> {
    let start = *cursor;
    room.clear();
    let small = cursor.numbers(|number| {
        room.push(i32::try_from(number).ok()?);
        Some(())
    });
    if small.is_some() {
        return Some(Numbers::Small(room.as_slice().into()));
    }
    *cursor = start;
    let mut wide = Vec::new();
    cursor.numbers(|number| {
        wide.push(number);
        Some(())
    })?;
    Some(Numbers::Wide(wide.into()))
}
