//! What is written down, who should look at it, and what can be done with it later.

mod audit;
mod catalog;
mod log;
mod replay;
mod review;
