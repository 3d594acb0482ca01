//! Writes the JSON Schemas into `events/schema/json/`, or into the folder that is named. Run by `make verify`.

use schema::{
    answer::{ANSWER_TYPE, AnswerBody, REHEARSAL_TYPE, RehearsalData},
    json_schema,
    registry::EVENTS,
};
use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/json").to_owned());
    let folder = Path::new(&folder);
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let events = EVENTS.iter().map(|entry| (entry.type_, (entry.schema)()));
    let others = [
        (ANSWER_TYPE, json_schema::of_event::<AnswerBody>(ANSWER_TYPE, &[])),
        (REHEARSAL_TYPE, json_schema::of_event::<RehearsalData>(REHEARSAL_TYPE, &[])),
    ];
    for (type_, schema) in events.chain(others) {
        fs::write(folder.join(format!("{type_}.json")), format!("{schema:#}\n"))?;
    }
    Ok(())
}
