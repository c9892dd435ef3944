//! What commands or a plan cost, whether the account can pay, and when it could.

use serde_json::{Value, json};

use super::{Failure, Outcome, World, fetch::fetch, local::commands, made_here};
use crate::{
    Command, Error, Params,
    client::Bucket,
    cost::{Budget, estimate},
    plan,
};

/// A bucket holds what an hour refills.
const BUCKET_MINUTES: u64 = 60;

/// `tokens.plan`.
pub(super) async fn plan<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let wanted = wanted(params)?;
    let mut left = given(params, "tokens_left")?;
    let mut rate = given(params, "refill_rate")?;
    let has_sample = params.text(&["fixture"]).is_some();
    let reads = left.is_none() && (has_sample || params.is_on("dry_run") || world.has_key());
    let fetched = if reads {
        Some(fetch(world, Command::TokensPlan, params).await?)
    } else {
        None
    };
    let text = fetched.as_ref().and_then(|fetched| fetched.text.as_ref());
    if let Some(bucket) = text.and_then(|text| Bucket::read(text.as_bytes())) {
        left = left.or(bucket.tokens_left);
        rate = rate.or(bucket.refill_rate);
    }
    let rate = u64::try_from(rate.unwrap_or(0)).unwrap_or(0);
    let mut data = account(&wanted, left, rate);
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

fn account(wanted: &[(String, Command, Budget)], left: Option<i64>, rate: u64) -> Value {
    let mut balance = left;
    let mut minutes = 0_u64;
    let mut steps = Vec::new();
    let (mut estimated, mut worst) = (0_u64, 0_u64);
    for (id, command, budget) in wanted {
        let price = i64::try_from(budget.worst_case_tokens).unwrap_or(i64::MAX);
        estimated = estimated.saturating_add(budget.estimated_tokens);
        worst = worst.saturating_add(budget.worst_case_tokens);
        let wait = balance.map(|now| wait_for(now, budget.worst_case_tokens, rate));
        let waited = wait.flatten();
        if let (Some(now), Some(more)) = (balance, waited) {
            minutes = minutes.saturating_add(more);
            let refilled = i64::try_from(more.saturating_mul(rate)).unwrap_or(i64::MAX);
            balance = Some(now.saturating_add(refilled).saturating_sub(price));
        }
        steps.push(json!({
            "id": id,
            "command": command.name(),
            "estimated_tokens": budget.estimated_tokens,
            "worst_case_tokens": budget.worst_case_tokens,
            "requires_confirmation": budget.requires_confirmation,
            "can_run": wait.map(|wait| wait.is_some()),
            "starts_after_minutes": waited.map(|_| minutes),
            "balance_after": waited.and(balance),
        }));
    }
    let is_payable = left.map(|left| left >= i64::try_from(worst).unwrap_or(i64::MAX));
    let all_run = steps.iter().all(|step| step["can_run"] != false);
    json!({
        "view": "token_plan",
        "tokens_left": left,
        "refill_rate_per_minute": rate,
        "bucket_capacity": rate.saturating_mul(BUCKET_MINUTES),
        "totals": {"estimated_tokens": estimated, "worst_case_tokens": worst},
        "can_pay_now": is_payable,
        "can_pay_ever": left.map(|_| all_run),
        "done_after_minutes": left.filter(|_| all_run).map(|_| minutes),
        "steps": steps,
    })
}

/// Minutes until a price can be paid in full; nothing if it never can.
fn wait_for(balance: i64, price: u64, rate: u64) -> Option<u64> {
    let price = i64::try_from(price).ok()?;
    let short = price.saturating_sub(balance);
    if short <= 0 {
        return Some(0);
    }
    let short = u64::try_from(short).ok()?;
    let capacity = rate.saturating_mul(BUCKET_MINUTES);
    let is_reachable = rate > 0 && u64::try_from(price).ok()? <= capacity;
    is_reachable.then(|| short.div_ceil(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_waited_for_as_long_as_it_takes_and_no_longer() {
        let cases = [
            ((10, 5, 1), Some(0)),
            ((0, 50, 5), Some(10)),
            ((-5, 50, 5), Some(11)),
            ((0, 400, 5), None),
            ((0, 1, 0), None),
        ];
        for ((balance, price, rate), expected) in cases {
            assert_eq!(
                wait_for(balance, price, rate),
                expected,
                "{balance} {price} {rate}"
            );
        }
    }

    #[test]
    fn a_plan_is_priced_step_by_step() {
        let params = Params::of(&json!({"name": "category-research", "term": "tea"}));
        let all = wanted(&params).unwrap();
        let told = account(&all, Some(20), 5);
        assert_eq!(told["totals"]["estimated_tokens"], 53);
        assert_eq!(told["steps"][2]["id"], "fetch-category-products");
        assert_eq!(told["steps"][2]["starts_after_minutes"], 7);
        assert_eq!(
            (&told["can_pay_now"], &told["can_pay_ever"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(account(&all, None, 5)["can_pay_ever"], Value::Null);
        assert!(wanted(&Params::default()).is_err());
    }
}
