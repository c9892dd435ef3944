//! A real Chromium against pages on the loopback interface.

mod boundary;
mod faults;
mod life;
mod pages;
mod site;
mod tabs;
mod world;
