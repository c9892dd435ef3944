//! What commands or a plan cost, whether the account can pay, and when it could.
//!
//! Invariant: it reckons as Keepa does. A request runs while the balance is positive, whatever it costs, and may push it
//! below zero; the next one waits until it is positive again.

use serde_json::{Value, json};

use super::{Failure, Outcome, World, fetch::fetch, local::commands, made_here};
use crate::{
    Command, Error, Params,
    client::Bucket,
    cost::{Budget, estimate},
    plan,
};

/// A bucket holds what an hour refills.
const BUCKET_MINUTES: f64 = 60.0;
const MINUTE_MS: u64 = 60_000;

/// `tokens.plan`.
pub(super) async fn plan<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let wanted = wanted(params)?;
    let mut known = Bucket {
        tokens_left: given(params, "tokens_left")?,
        refill_rate: given(params, "refill_rate")?,
        ..Bucket::default()
    };
    let has_sample = params.text(&["fixture"]).is_some();
    let reads =
        known.tokens_left.is_none() && (has_sample || params.is_on("dry_run") || world.has_key());
    let fetched = if reads {
        Some(fetch(world, Command::TokensPlan, params).await?)
    } else {
        None
    };
    let text = fetched.as_ref().and_then(|fetched| fetched.text.as_ref());
    if let Some(bucket) = text.and_then(|text| Bucket::read(text.as_bytes())) {
        known = Bucket {
            tokens_left: known.tokens_left.or(bucket.tokens_left),
            refill_rate: known.refill_rate.or(bucket.refill_rate),
            ..bucket
        };
    }
    let mut data = account(&wanted, &known);
    data["provenance"] = made_here(Command::TokensPlan, params);
    let Some(fetched) = fetched else {
        return Ok(Outcome::local(data));
    };
    for (name, value) in fetched.base() {
        data[name] = value;
    }
    Ok(fetched.outcome(data))
}

fn given(params: &Params, name: &str) -> Result<Option<i64>, Error> {
    params
        .text(&[name])
        .map(|_| params.number(name, 0))
        .transpose()
}

/// What is to be paid for: the steps of a plan, or the commands that are named.
fn wanted(params: &Params) -> Result<Vec<(String, Command, Budget)>, Error> {
    if params.text(&["name"]).is_some() {
        let plan = plan::plan(params)?;
        let steps = plan["steps"].as_array().into_iter().flatten();
        let priced = steps.filter_map(|step| {
            let command = Command::named(step["tool"].as_str()?)?;
            let budget = estimate(command, &Params::of(&step["params"]));
            Some(budget.map(|budget| {
                (
                    step["id"].as_str().unwrap_or_default().to_owned(),
                    command,
                    budget,
                )
            }))
        });
        return priced.collect();
    }
    if params.get(&["commands"]).is_none() {
        return Err(Error::argument("give commands, or the name of a plan"));
    }
    let all = commands(params)?.into_iter();
    all.map(|(command, inner)| {
        Ok((
            command.name().to_owned(),
            command,
            estimate(command, &inner)?,
        ))
    })
    .collect()
}

fn account(wanted: &[(String, Command, Budget)], known: &Bucket) -> Value {
    let mut purse = known.tokens_left.map(|left| Purse::of(left, known));
    let mut steps = Vec::new();
    let (mut estimated, mut worst) = (0_u64, 0_u64);
    for (id, command, budget) in wanted {
        estimated = estimated.saturating_add(budget.estimated_tokens);
        worst = worst.saturating_add(budget.worst_case_tokens);
        let paid = purse
            .as_mut()
            .map(|purse| purse.pay(budget.worst_case_tokens));
        let begins = paid.flatten();
        let after = purse.as_ref().filter(|_| begins.is_some());
        let balance = after.map(|purse| purse.balance.floor() as i64);
        let recovers = after.and_then(Purse::positive_after_ms);
        steps.push(json!({
            "id": id,
            "command": command.name(),
            "estimated_tokens": budget.estimated_tokens,
            "worst_case_tokens": budget.worst_case_tokens,
            "requires_confirmation": budget.requires_confirmation,
            "can_run": paid.map(|begins| begins.is_some()),
            "starts_after_seconds": begins.map(|ms| ms.div_ceil(1000)),
            "starts_after_minutes": begins.map(|ms| ms.div_ceil(MINUTE_MS)),
            "balance_after": balance,
            "positive_again_after_seconds": recovers.map(|ms| ms.div_ceil(1000)),
        }));
    }
    let left = known.tokens_left;
    let all_run = steps.iter().all(|step| step["can_run"] != false);
    let none_waits = steps.iter().all(|step| step["starts_after_seconds"] == 0);
    let lowest = purse.as_ref().map(|purse| purse.lowest.floor() as i64);
    let done = purse.filter(|_| all_run).map(|purse| purse.waited_ms);
    json!({
        "view": "token_plan",
        "tokens_left": left,
        "refill_rate_per_minute": known.refill_rate.unwrap_or(0).max(0),
        "refill_in_ms": known.refill_in_ms,
        "token_flow_reduction": known.token_flow_reduction,
        "effective_refill_per_minute": income(known),
        "bucket_capacity": capacity(known) as u64,
        "totals": {"estimated_tokens": estimated, "worst_case_tokens": worst},
        "can_pay_now": left.map(|_| none_waits),
        "can_pay_ever": left.map(|_| all_run),
        "lowest_balance": lowest,
        "done_after_seconds": done.map(|ms| ms.div_ceil(1000)),
        "done_after_minutes": done.map(|ms| ms.div_ceil(MINUTE_MS)),
        "steps": steps,
    })
}

/// Tokens a minute that are really added: trackings take their share of the refill first.
fn income(known: &Bucket) -> f64 {
    let rate = known.refill_rate.unwrap_or(0) as f64;
    let taken = known.token_flow_reduction.filter(|taken| taken.is_finite());
    (rate - taken.unwrap_or(0.0).max(0.0)).max(0.0)
}

fn capacity(known: &Bucket) -> f64 {
    (known.refill_rate.unwrap_or(0) as f64 * BUCKET_MINUTES).max(0.0)
}

/// A balance as time goes by.
struct Purse {
    balance: f64,
    income: f64,
    capacity: f64,
    /// Until the next refill.
    next_ms: u64,
    waited_ms: u64,
    lowest: f64,
}

impl Purse {
    fn of(left: i64, known: &Bucket) -> Self {
        let next = known.refill_in_ms.and_then(|ms| u64::try_from(ms).ok());
        Self {
            balance: left as f64,
            income: income(known),
            capacity: capacity(known),
            next_ms: next.unwrap_or(MINUTE_MS),
            waited_ms: 0,
            lowest: left as f64,
        }
    }

    /// Waits until the balance is positive and pays, be it with a debt: when that is, or nothing if it never is.
    fn pay(&mut self, price: u64) -> Option<u64> {
        if price == 0 {
            return Some(self.waited_ms);
        }
        let refills = self.refills_needed()?;
        if refills > 0.0 {
            self.waited_ms = self.after_refills(refills);
            self.balance = (self.balance + refills * self.income).min(self.capacity);
            self.next_ms = MINUTE_MS;
        }
        self.balance -= price as f64;
        self.lowest = self.lowest.min(self.balance);
        Some(self.waited_ms)
    }

    /// When the balance is positive, counted from the beginning; nothing if it never is.
    fn positive_after_ms(&self) -> Option<u64> {
        let refills = self.refills_needed()?;
        Some(self.after_refills(refills))
    }

    fn after_refills(&self, refills: f64) -> u64 {
        if refills <= 0.0 {
            return self.waited_ms;
        }
        let later = (refills as u64).saturating_sub(1).saturating_mul(MINUTE_MS);
        self.waited_ms
            .saturating_add(self.next_ms)
            .saturating_add(later)
    }

    /// How many refills make the balance positive: none if it is, nothing if none ever do.
    fn refills_needed(&self) -> Option<f64> {
        if self.balance > 0.0 {
            return Some(0.0);
        }
        // A balance of exactly zero is not enough.
        let refills = (-self.balance / self.income).floor() + 1.0;
        (self.income > 0.0).then_some(refills)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(left: i64, rate: i64) -> Bucket {
        Bucket {
            tokens_left: Some(left),
            refill_rate: Some(rate),
            ..Bucket::default()
        }
    }

    #[test]
    fn a_request_runs_while_the_balance_is_positive_and_may_leave_a_debt() {
        // Balance, price and refill a minute: minutes until it begins, balance then, minutes until it is positive again.
        let cases = [
            ((10, 5, 1), Some((0, 5, Some(0)))),
            ((1, 50, 5), Some((0, -49, Some(10)))),
            // Fifty short is ten refills to nothing, and nothing is not enough.
            ((1, 51, 5), Some((0, -50, Some(11)))),
            ((0, 50, 5), Some((1, -45, Some(11)))),
            ((-5, 50, 5), Some((2, -45, Some(12)))),
            // More than the bucket ever holds.
            ((1, 400, 5), Some((0, -399, Some(80)))),
            ((5, 9, 0), Some((0, -4, None))),
            ((0, 1, 0), None),
            ((0, 0, 0), Some((0, 0, None))),
        ];
        for ((balance, price, rate), expected) in cases {
            let mut purse = Purse::of(balance, &bucket(balance, rate));
            let told = purse.pay(price).map(|begins| {
                let again = purse.positive_after_ms().map(|ms| ms / MINUTE_MS);
                (begins / MINUTE_MS, purse.balance as i64, again)
            });
            assert_eq!(told, expected, "{balance} {price} {rate}");
        }
    }

    #[test]
    fn the_next_refill_and_what_trackings_take_count() {
        let known = Bucket {
            refill_in_ms: Some(1500),
            token_flow_reduction: Some(4.0),
            ..bucket(0, 5)
        };
        let mut purse = Purse::of(0, &known);
        // Of five tokens a minute one is left.
        assert_eq!(purse.pay(2), Some(1500));
        assert_eq!(purse.pay(1), Some(121_500));
        let taken = Bucket {
            token_flow_reduction: Some(5.0),
            ..bucket(0, 5)
        };
        assert_eq!(Purse::of(0, &taken).pay(1), None);
        let wanted = [("one".to_owned(), Command::BestsellersGet, Budget::default())];
        let told = account(&wanted, &known);
        assert_eq!(told["effective_refill_per_minute"], 1.0);
        assert_eq!(told["refill_in_ms"], 1500);
    }

    #[test]
    fn a_plan_is_priced_step_by_step() {
        let params = Params::of(&json!({"name": "category-research", "term": "tea"}));
        let all = wanted(&params).unwrap();
        let told = account(&all, &bucket(20, 5));
        assert_eq!(told["totals"]["estimated_tokens"], 53);
        let list = &told["steps"][2];
        assert_eq!(list["id"], "fetch-category-products");
        // 19 tokens are left for a list of 50.
        assert_eq!(list["starts_after_minutes"], 0);
        assert_eq!(list["balance_after"], -31);
        assert_eq!(list["positive_again_after_seconds"], 7 * 60);
        assert_eq!(told["steps"][3]["starts_after_minutes"], 7);
        assert_eq!(told["lowest_balance"], -31);
        assert_eq!(
            (&told["can_pay_now"], &told["can_pay_ever"]),
            (&json!(false), &json!(true))
        );
        let unknown = Bucket {
            tokens_left: None,
            ..bucket(0, 5)
        };
        assert_eq!(account(&all, &unknown)["can_pay_ever"], Value::Null);
        assert!(wanted(&Params::default()).is_err());
    }
}
