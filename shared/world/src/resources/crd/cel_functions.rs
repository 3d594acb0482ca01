//! The functions Kubernetes adds to CEL, on top of the crate's standard library and its string, list and math
//! extensions. Not there: indexOf() on lists, url(), ip(), cidr() (but isIP() and isCIDR()), format.named(), semver(), authorizer, cost limits.

use crate::resources::quantity::Quantity;
use cel::extractors::{Arguments, This};
use cel::objects::Opaque;
use cel::{Context, DeclarationError, Env, ExecutionError, Value, extensions};
use std::cmp::Ordering;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

/// Parsing and evaluation share one environment; building it is the dear part.
pub static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    // A refused extension would leave rules that use it failing by name, which the tests below rule out.
    let _ = environment.add_extension(extensions::strings);
    let _ = environment.add_extension(extensions::lists);
    let _ = environment.add_extension(extensions::math);
    let _ = environment.add_extension(extensions::encoders);
    Arc::new(environment)
});

/// A context with Kubernetes' functions and no variables yet.
pub fn context() -> Context<'static, 'static> {
    let mut context = Context::with_env(ENVIRONMENT.clone());
    // Names are fixed and checked by the tests below, so a refusal cannot depend on the rule.
    let _ = add_list_functions(&mut context);
    let _ = add_text_functions(&mut context);
    let _ = add_quantity_functions(&mut context);
    let _ = add_address_functions(&mut context);
    context
}

const QUANTITY_PATTERN: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Whether a text is an address or a range of them. What they are made of is not asked for in rules we have seen.
fn add_address_functions(context: &mut Context<'static, 'static>) -> Result<(), DeclarationError> {
    context.add_function("isIP", |text: Arc<String>| text.parse::<IpAddr>().is_ok())?;
    context.add_function("isCIDR", |text: Arc<String>| {
        let Some((address, bits)) = text.split_once('/') else { return false };
        let most = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|bits| bits <= most)
    })
}

fn add_list_functions(context: &mut Context<'static, 'static>) -> Result<(), DeclarationError> {
    context.add_function("isSorted", |This(list): This<Value>| -> Result<Value, ExecutionError> {
        let list = as_list("isSorted", &list)?;
        Ok(Value::Bool(
            list.windows(2).all(|pair| matches!(pair[0].partial_cmp(&pair[1]), Some(Ordering::Less | Ordering::Equal))),
        ))
    })?;
    context.add_function("sum", |This(list): This<Value>| -> Result<Value, ExecutionError> {
        let list = as_list("sum", &list)?;
        let mut rest = list.iter().cloned();
        rest.next().map_or(Ok(Value::Int(0)), |first| rest.try_fold(first, |total, one| total + one))
    })?;
    context.add_function("min", |This(list): This<Value>| extreme("min", &list, Ordering::Less))?;
    context.add_function("max", |This(list): This<Value>| extreme("max", &list, Ordering::Greater))
}

fn extreme(name: &str, list: &Value, wanted: Ordering) -> Result<Value, ExecutionError> {
    let list = as_list(name, list)?;
    let mut best = list.first().ok_or_else(|| ExecutionError::function_error(name, "called on empty list"))?;
    for one in list.iter() {
        if one.partial_cmp(best) == Some(wanted) {
            best = one;
        }
    }
    Ok(best.clone())
}

fn add_text_functions(context: &mut Context<'static, 'static>) -> Result<(), DeclarationError> {
    context.add_function(
        "find",
        |This(text): This<Arc<String>>, pattern: Arc<String>| -> Result<Value, ExecutionError> {
            let regex = compile("find", &pattern)?;
            let found = regex.find(&text).map(|found| found.as_str().to_owned()).unwrap_or_default();
            Ok(Value::String(Arc::new(found)))
        },
    )?;
    context.add_function(
        "findAll",
        |This(text): This<Arc<String>>, Arguments(arguments): Arguments| -> Result<Value, ExecutionError> {
            let (pattern, most) = match arguments.as_slice() {
                [Value::String(pattern)] => (pattern, usize::MAX),
                [Value::String(pattern), Value::Int(most)] => (pattern, usize::try_from(*most).unwrap_or(usize::MAX)),
                _ => return Err(ExecutionError::function_error("findAll", "no such overload")),
            };
            let regex = compile("findAll", pattern)?;
            let found = regex.find_iter(&text).take(most).map(|one| Value::String(Arc::new(one.as_str().to_owned())));
            Ok(Value::List(Arc::new(found.collect())))
        },
    )
}

/// A quantity as CEL sees it: a thing only its own functions can read.
#[derive(Debug, PartialEq, Eq)]
struct CelQuantity(Quantity);

impl Opaque for CelQuantity {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.Quantity"
    }
}

fn add_quantity_functions(context: &mut Context<'static, 'static>) -> Result<(), DeclarationError> {
    context.add_function("isQuantity", |text: Arc<String>| Quantity::parse(&text).is_some())?;
    context.add_function("quantity", |text: Arc<String>| -> Result<Value, ExecutionError> {
        match Quantity::parse(&text) {
            Some(quantity) => Ok(Value::Opaque(Arc::new(CelQuantity(quantity)))),
            None => Err(ExecutionError::function_error("quantity", QUANTITY_PATTERN)),
        }
    })?;
    context
        .add_function("isGreaterThan", |This(one): This<Value>, other: Value| compare(&one, &other, |it| it.is_gt()))?;
    context
        .add_function("isLessThan", |This(one): This<Value>, other: Value| compare(&one, &other, |it| it.is_lt()))?;
    context.add_function("compareTo", |This(one): This<Value>, other: Value| -> Result<Value, ExecutionError> {
        Ok(Value::Int(as_quantity(&one)?.cmp(&as_quantity(&other)?) as i64))
    })?;
    context.add_function("sign", |This(one): This<Value>| -> Result<Value, ExecutionError> {
        Ok(Value::Int(as_quantity(&one)?.sign()))
    })?;
    context.add_function("isInteger", |This(one): This<Value>| -> Result<Value, ExecutionError> {
        let quantity = as_quantity(&one)?;
        Ok(Value::Bool(quantity.is_whole() && i64::try_from(quantity.value()).is_ok()))
    })?;
    context.add_function("asInteger", |This(one): This<Value>| -> Result<Value, ExecutionError> {
        let quantity = as_quantity(&one)?;
        let whole = i64::try_from(quantity.value()).ok().filter(|_| quantity.is_whole());
        whole
            .map(Value::Int)
            .ok_or_else(|| ExecutionError::function_error("asInteger", "cannot convert value to integer"))
    })?;
    context.add_function("asApproximateFloat", |This(one): This<Value>| -> Result<Value, ExecutionError> {
        Ok(Value::Float(as_quantity(&one)?.as_float()))
    })?;
    context.add_function("add", |This(one): This<Value>, other: Value| -> Result<Value, ExecutionError> {
        Ok(Value::Opaque(Arc::new(CelQuantity(as_quantity(&one)?.plus(&operand(&other)?)))))
    })?;
    context.add_function("sub", |This(one): This<Value>, other: Value| -> Result<Value, ExecutionError> {
        Ok(Value::Opaque(Arc::new(CelQuantity(as_quantity(&one)?.minus(&operand(&other)?)))))
    })
}

fn compare(one: &Value, other: &Value, holds: fn(Ordering) -> bool) -> Result<Value, ExecutionError> {
    Ok(Value::Bool(holds(as_quantity(one)?.cmp(&as_quantity(other)?))))
}

/// add() and sub() also take a plain integer.
fn operand(value: &Value) -> Result<Quantity, ExecutionError> {
    match value {
        Value::Int(whole) => Ok(Quantity::from_whole(i128::from(*whole))),
        other => as_quantity(other),
    }
}

fn as_quantity(value: &Value) -> Result<Quantity, ExecutionError> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<CelQuantity>().map(|quantity| quantity.0),
        _ => None,
    }
    .ok_or_else(|| ExecutionError::function_error("quantity", "no such overload"))
}

fn as_list<'a>(name: &str, value: &'a Value) -> Result<&'a [Value], ExecutionError> {
    match value {
        Value::List(list) => Ok(list),
        _ => Err(ExecutionError::function_error(name, "no such overload")),
    }
}

fn compile(name: &str, pattern: &str) -> Result<regex::Regex, ExecutionError> {
    regex::Regex::new(pattern).map_err(|error| ExecutionError::function_error(name, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_functions_answer_as_documented() {
        let expressions = [
            "[1, 2, 2].isSorted() && ![2, 1].isSorted()",
            "[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [3, 1].max() == 3",
            "'abc 123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']",
            "quantity('1Gi').isGreaterThan(quantity('1G')) && !isQuantity('x')",
            "quantity('1500m').compareTo(quantity('1')) == 1 && quantity('2').asInteger() == 2",
            "quantity('1').add(quantity('1')).sub(1) == quantity('1000m')",
            "'a-b'.split('-') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && 'Ab'.lowerAscii() == 'ab'",
            "'abc'.substring(1) == 'bc' && 'abc'.indexOf('c') == 2 && ' a '.trim() == 'a'",
            "'abc'.matches('^a.c$') && size([1]) == 1 && {'a': 1}.all(k, k == 'a')",
            "duration('1m') > duration('30s') && timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
            "[1, 2].exists(x, x == 2) && [1, 2].map(x, x * 2) == [2, 4] && [1, 2].filter(x, x > 1) == [2]",
            "'%s is %d'.format(['a', 1]) == 'a is 1'",
        ];
        let context = context();
        let failed: Vec<String> = expressions
            .iter()
            .filter_map(|text| match ENVIRONMENT.compile(text).map(|program| program.execute(&context)) {
                Ok(Ok(Value::Bool(true))) => None,
                other => Some(format!("{text}: {other:?}")),
            })
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
