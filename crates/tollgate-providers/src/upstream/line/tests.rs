//! Answers as servers really send them, and as hostile ones might.

use tokio::net::TcpListener;

use super::*;

const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";

/// What a line reads of an answer that comes in pieces; whether it can be used again.
async fn read(answer: &[&[u8]]) -> (Result<String, Unanswered>, bool) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
    let mut line = Line::new(stream.unwrap());
    let (mut server, _) = listener.accept().await.unwrap();
    let pieces: Vec<Vec<u8>> = answer.iter().map(|piece| piece.to_vec()).collect();
    // A server whose answer ends with the connection has to close it.
    let is_closed = answer.concat().windows(5).any(|word| word == b"close");
    let serving = tokio::spawn(async move {
        let mut request = vec![0; REQUEST.len()];
        server.read_exact(&mut request).await.unwrap();
        assert_eq!(request, REQUEST);
        for piece in pieces {
            // Whoever has heard enough is gone.
            drop(server.write_all(&piece).await);
            tokio::task::yield_now().await;
        }
        (!is_closed).then_some(server)
    });
    let heard = async {
        let head = line.exchange(REQUEST).await?;
        let mut text = format!("{} ", head.status.as_u16());
        while let Some(piece) = line.piece().await.map_err(Unanswered::Broken)? {
            text.push_str(&String::from_utf8_lossy(&piece));
        }
        Ok(text)
    };
    let heard = heard.await;
    let _server = serving.await.unwrap();
    (heard, line.is_open())
}

fn why(heard: Result<String, Unanswered>) -> String {
    match heard {
        Err(Unanswered::Broken(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn answers_are_read_to_their_end_and_the_connection_is_used_again() {
    let cases: [&[&[u8]]; 6] = [
        &[b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"],
        &[
            b"HTTP/1.1 200 OK\r\nContent-Length:",
            b" 5\r\n\r\nhe",
            b"llo",
        ],
        &[
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r",
            b"\n002;a=b\r\nlo\r\n0\r\nx-trailer: y\r\n\r\n",
        ],
        &[b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\ncontent-length: 9\r\n\r\n5\nhello\n0\n\n"],
        &[b"HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 5\r\n\r\nhello"],
        &[b"HTTP/1.1 200\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nhello"],
    ];
    for case in cases {
        let (heard, is_open) = read(case).await;
        let shown = String::from_utf8_lossy(case[0]).into_owned();
        assert_eq!(heard, Ok("200 hello".to_owned()), "{shown}");
        assert!(is_open, "{shown}");
    }
    let (heard, is_open) = read(&[b"HTTP/1.1 204 No Content\r\n\r\n"]).await;
    assert_eq!((heard, is_open), (Ok("204 ".to_owned()), true));
    let (heard, is_open) = read(&[b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"]).await;
    assert_eq!((heard, is_open), (Ok("202 ".to_owned()), true));
}

#[tokio::test]
async fn a_connection_that_is_over_is_not_used_again() {
    let cases: [&[&[u8]]; 4] = [
        &[b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello"],
        &[b"HTTP/1.1 200 OK\r\nx-why: close\r\n\r\nhello"],
        &[b"HTTP/1.0 200 OK\r\nx-why: close\r\ncontent-length: 5\r\n\r\nhello"],
        // Something came that nobody asked for.
        &[b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n"],
    ];
    for case in cases {
        let (heard, is_open) = read(case).await;
        assert_eq!(heard, Ok("200 hello".to_owned()));
        assert!(!is_open, "{}", String::from_utf8_lossy(case[0]));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    let long = [
        b"HTTP/1.1 200 OK\r\nx: ".as_slice(),
        &vec![b'a'; HEAD_BYTES + 9],
    ]
    .concat();
    let line = [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;".as_slice(),
        &vec![b'a'; HEAD_BYTES + 9],
    ]
    .concat();
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
    let cases: [(&[u8], &str); 9] = [
        (b"SSH-2.0-x\r\n\r\n", "invalid HTTP version"),
        (&long, "its head is too long"),
        (many.as_bytes(), "too many headers"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
            "it says two lengths",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
            "its length makes no sense",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
            "the size of a chunk makes no sense",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n",
            "a chunk is longer than it says",
        ),
        (&line, "a line between its chunks is too long"),
        (
            b"HTTP/1.1 200 OK\r\nx-why: close\r\ncontent-length: 9\r\n\r\nhello",
            "it was closed within the answer",
        ),
    ];
    for (answer, expected) in cases {
        let (heard, is_open) = read(&[answer]).await;
        assert_eq!(why(heard), expected);
        assert!(!is_open, "{expected}");
    }
}

#[tokio::test]
async fn a_line_that_was_closed_while_idle_is_noticed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
    let line = Line::new(stream.unwrap());
    let (server, _) = listener.accept().await.unwrap();
    assert!(line.is_open());
    drop(server);
    line.stream.readable().await.unwrap();
    assert!(!line.is_open());
}

/// What a line reads of answers that follow each other on one connection.
async fn in_turn(answers: &[&[&str]]) -> Vec<Result<String, Unanswered>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
    let mut line = Line::new(stream.unwrap());
    let (mut server, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    for pieces in answers {
        let serving = async {
            let mut request = vec![0; REQUEST.len()];
            server.read_exact(&mut request).await.unwrap();
            for piece in *pieces {
                server.write_all(piece.as_bytes()).await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let reading = async {
            let head = line.exchange(REQUEST).await?;
            let mut said: Vec<String> = head
                .headers
                .iter()
                .filter(|(name, _)| **name != CONTENT_LENGTH)
                .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
                .collect();
            said.sort();
            let mut text = format!("{} {} ", head.status.as_u16(), said.join(" "));
            while let Some(piece) = line.piece().await.map_err(Unanswered::Broken)? {
                text.push_str(&String::from_utf8_lossy(&piece));
            }
            Ok(text)
        };
        let ((), read) = tokio::join!(serving, reading);
        heard.push(read);
    }
    heard
}

#[tokio::test]
async fn a_head_that_comes_again_is_read_as_if_alone() {
    let answers: [&[&str]; 11] = [
        &["HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 5\r\nc: d\r\n\r\nhello"],
        &["HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 5\r\nc: d\r\n\r\nthere"],
        &["HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 11\r\nc: d\r\n\r\nhello there"],
        &[
            "HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 1",
            "1\r\nc: d\r\n\r\nhello",
            " there",
        ],
        &["HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 0\r\nc: d\r\n\r\n"],
        &["HTTP/1.1 404 OK\r\na: b\r\ncontent-length: 5\r\nc: d\r\n\r\nhello"],
        &["HTTP/1.1 404 OK\r\na: e\r\ncontent-length: 5\r\nc: d\r\n\r\nhello"],
        &["HTTP/1.1 404 OK\r\na: e\r\ncontent-length: 5\r\nc: d\r\nf: g\r\n\r\nhello"],
        &[
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 OK\r\na: e\r\ncontent-length: 5\r\nc: d\r\nf: g\r\n\r\nhello",
        ],
        &["HTTP/1.1 200 OK\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
        &["HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 5\r\nc: d\r\n\r\nhello"],
    ];
    let mut alone = Vec::new();
    for answer in answers {
        alone.append(&mut in_turn(&[answer]).await);
    }
    assert!(alone.iter().all(Result::is_ok), "{alone:?}");
    assert_eq!(in_turn(&answers).await, alone);
    // A length that makes no sense makes none after one that did, either.
    for odd in ["+5", "5, 5", "", "99999999999999999999999", "-1"] {
        let odd = format!("HTTP/1.1 200 OK\r\na: b\r\ncontent-length: {odd}\r\nc: d\r\n\r\nhello");
        let heard = in_turn(&[answers[0], &[&odd]]).await;
        assert_eq!(
            heard[1],
            Err(Unanswered::Broken("its length makes no sense".to_owned()))
        );
    }
}
