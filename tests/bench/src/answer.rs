//! Whether a function took the event: a start that ends in a refusal would measure the wrong thing.

use serde_json::Value;

use crate::Result;

/// `answer` is a function's answer, as an object or as its JSON text.
pub fn accepted(answer: &Value) -> Result<()> {
    let parsed: Value;
    let answer = match answer.as_str() {
        Some(text) => {
            parsed = serde_json::from_str(text)?;
            &parsed
        }
        None => answer,
    };
    match answer["outcome"].as_str() {
        Some("done" | "nothing" | "later") => Ok(()),
        _ => Err(format!("the function did not take the event: {answer}").into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::accepted;

    #[test]
    fn nothing_to_do_is_an_answer_and_refusal_is_not() {
        assert!(accepted(&json!({"outcome": "nothing", "reason": "…"})).is_ok());
        assert!(accepted(&json!(r#"{"outcome": "later"}"#)).is_ok());
        assert!(accepted(&json!({"outcome": "refused"})).is_err());
        assert!(accepted(&json!({"errorMessage": "boom"})).is_err());
        assert!(accepted(&json!(null)).is_err());
    }
}
