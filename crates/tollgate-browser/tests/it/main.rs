//! A real Chromium against pages on the loopback interface.

#[cfg(test)]
mod aim;
#[cfg(test)]
mod apart;
#[cfg(test)]
mod boundary;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod going;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod keeping;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod life;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod site;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod tabs;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod tunnel;
#[cfg(test)]
mod widgets;
#[cfg(test)]
mod window;
#[cfg(test)]
mod world;
