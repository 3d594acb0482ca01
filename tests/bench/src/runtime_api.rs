//! The side of AWS Lambda a function talks to, with one event in it: hands it out, takes the answer, notes when it came.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::http::{Connection, Message};

const REQUEST_ID: &str = "8476a536-e9f4-11e8-9739-2dfe598c3fcd";
const FUNCTION_ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:on-nodeclaim";
const NEXT: &str = "GET /2018-06-01/runtime/invocation/next ";

/// A server for one invocation. Dropping it ends it.
#[derive(Debug)]
pub struct RuntimeApi {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    said: Receiver<Said>,
}

/// What the function returned, and when all of it had arrived.
#[derive(Debug)]
pub struct Answer {
    pub body: String,
    pub at: Instant,
}

#[derive(Debug)]
enum Said {
    Answer(Answer),
    Trouble(String),
}

impl RuntimeApi {
    pub fn serve(event: String) -> Result<RuntimeApi> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (say, said) = channel();
        let invocation = Arc::new(Invocation { event, taken: AtomicBool::new(false), say });
        let closing = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&closing);
        thread::spawn(move || {
            // One thread a connection: a runtime may ask for the next event on one while it answers on another.
            for stream in listener.incoming().take_while(|_| !closed.load(Ordering::SeqCst)) {
                let invocation = Arc::clone(&invocation);
                let Ok(connection) = stream.and_then(Connection::over) else { continue };
                thread::spawn(move || invocation.attend(connection));
            }
        });
        Ok(RuntimeApi { address, closing, said })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The answer, or nothing if none came in this time. Anything but an answer is an error.
    pub fn wait_for_answer(&self, time: Duration) -> Result<Option<Answer>> {
        match self.said.recv_timeout(time) {
            Ok(Said::Answer(answer)) => Ok(Some(answer)),
            Ok(Said::Trouble(trouble)) => Err(trouble.into()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err("the runtime API has stopped".into()),
        }
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it sees that it is over. If nobody listens, it has ended already.
        let _ = TcpStream::connect(self.address);
    }
}

#[derive(Debug)]
struct Invocation {
    event: String,
    taken: AtomicBool,
    say: Sender<Said>,
}

impl Invocation {
    fn attend(&self, mut connection: Connection) {
        // A function that is killed drops its connections: how this ends tells nothing.
        while let Ok(Some(request)) = connection.receive() {
            let at = Instant::now();
            // There is no second event: who asks for one waits, as on real Lambda, until it is ended.
            let Some(reply) = self.reply(&request, at) else { continue };
            if connection.send(reply.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn reply(&self, request: &Message, at: Instant) -> Option<String> {
        let line = &request.first_line;
        if line.starts_with(NEXT) {
            let first = !self.taken.swap(true, Ordering::SeqCst);
            return first.then(|| with_event(&self.event));
        }
        let (said, reply) = if line.contains(&format!("/{REQUEST_ID}/response ")) {
            (Said::Answer(Answer { body: request.text(), at }), "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        } else {
            (
                Said::Trouble(format!("{line}: {}", request.text())),
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            )
        };
        // Nobody listens any more once the answer is in.
        let _ = self.say.send(said);
        Some(reply.to_owned())
    }
}

fn with_event(event: &str) -> String {
    let deadline = SystemTime::now() + Duration::from_secs(60);
    let deadline = deadline.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         lambda-runtime-aws-request-id: {REQUEST_ID}\r\nlambda-runtime-deadline-ms: {deadline}\r\n\
         lambda-runtime-invoked-function-arn: {FUNCTION_ARN}\r\n\r\n{event}",
        event.len()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{REQUEST_ID, RuntimeApi};
    use crate::http::{Connection, post};

    const SOON: Duration = Duration::from_secs(5);

    #[test]
    fn an_event_is_handed_out_and_its_answer_taken() {
        let api = RuntimeApi::serve(r#"{"id":"1"}"#.to_owned()).unwrap();
        let mut function = Connection::open(api.address()).unwrap();
        let event = function.ask(b"GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((event.status(), event.text().as_str()), (Some(200), r#"{"id":"1"}"#));

        let path = format!("/2018-06-01/runtime/invocation/{REQUEST_ID}/response");
        let taken = function.ask(&post(&path, "application/json", r#"{"outcome":"nothing"}"#)).unwrap();
        assert_eq!(taken.status(), Some(202));
        let answer = api.wait_for_answer(SOON).unwrap().unwrap();
        assert_eq!(answer.body, r#"{"outcome":"nothing"}"#);
    }

    #[test]
    fn a_function_that_reports_an_error_fails_the_measurement() {
        let api = RuntimeApi::serve("{}".to_owned()).unwrap();
        let mut function = Connection::open(api.address()).unwrap();
        function.send(&post("/2018-06-01/runtime/init/error", "application/json", "no config")).unwrap();
        let trouble = api.wait_for_answer(SOON).unwrap_err().to_string();
        assert!(trouble.contains("init/error") && trouble.contains("no config"), "{trouble}");
    }

    #[test]
    fn a_silent_function_is_no_error_yet() {
        let api = RuntimeApi::serve("{}".to_owned()).unwrap();
        assert!(api.wait_for_answer(Duration::from_millis(1)).unwrap().is_none());
    }
}
