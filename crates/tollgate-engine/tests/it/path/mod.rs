//! What a call meets on its way: names, arguments, rules, cleaning, the envelope.

mod cleaning;
mod control;
mod discovery;
mod envelope;
mod expensive;
mod rules;
mod skills;
mod validation;
