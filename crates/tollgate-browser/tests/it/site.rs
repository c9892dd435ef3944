//! A small web server with pages that do what pages do, and some that do worse.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A server, for as long as it is held.
pub(crate) struct Site {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, port, Arc::clone(&log)));
            }
        });
        Self {
            port,
            seen,
            serving,
        }
    }

    /// The address of a page at a host; all hosts of the tests lead here.
    pub(crate) fn at(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// The address of a page.
    pub(crate) fn url(&self, path: &str) -> String {
        self.at("shop.test", path)
    }

    /// What was asked for, as `METHOD host path`.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, port: u16, seen: Arc<Mutex<Vec<String>>>) {
    let mut kept = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = kept.windows(4).position(|it| it == b"\r\n\r\n") {
                break end;
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(read) if read > 0 => kept.extend_from_slice(&piece[..read]),
                Ok(_) | Err(_) => return,
            }
        };
        let head = String::from_utf8_lossy(&kept[..end]).into_owned();
        let length = header(&head, "content-length")
            .and_then(|it| it.parse().ok())
            .unwrap_or(0);
        while kept.len() < end + 4 + length {
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(read) if read > 0 => kept.extend_from_slice(&piece[..read]),
                Ok(_) | Err(_) => return,
            }
        }
        let body = String::from_utf8_lossy(&kept[end + 4..end + 4 + length]).into_owned();
        kept.drain(..end + 4 + length);
        let mut words = head.split_whitespace();
        let method = words.next().unwrap_or_default().to_owned();
        let path = words.next().unwrap_or_default().to_owned();
        let host = header(&head, "host").unwrap_or_default();
        let name = host.split(':').next().unwrap_or_default().to_owned();
        seen.lock().unwrap().push(format!("{method} {name} {path}"));
        let times = |path: &str| {
            let seen = seen.lock().unwrap();
            seen.iter().filter(|it| it.ends_with(path)).count()
        };
        let answer = answer(&method, &path, &head, &body, port, times(" /again"));
        match answer {
            Answer::Page(extra, page) => {
                let text = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n{extra}content-length: {}\r\n\r\n{page}",
                    page.len()
                );
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Answer::Raw(text) => {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Answer::Once(path, wanted, page) => {
                while times(path) < wanted {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                let text = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncache-control: no-store\r\ncontent-length: {}\r\n\r\n{page}",
                    page.len()
                );
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Answer::Never => {
                tokio::time::sleep(Duration::from_secs(600)).await;
            }
            Answer::Stream => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<title>stream</title><button>Early</button>";
                if stream.write_all(head.as_bytes()).await.is_err() {
                    return;
                }
                while stream.write_all(b"<p>and on it goes</p>").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                return;
            }
            Answer::Endless => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\r\n";
                if stream.write_all(head.as_bytes()).await.is_err() {
                    return;
                }
                let piece = vec![b'x'; 1 << 16];
                while stream.write_all(&piece).await.is_ok() {}
                return;
            }
        }
    }
}

fn header(head: &str, wanted: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted)
            .then(|| value.trim().to_owned())
    })
}

enum Answer {
    Page(String, String),
    Raw(String),
    /// Once another page was asked for so often.
    Once(&'static str, usize, &'static str),
    Never,
    Endless,
    Stream,
}

fn page(body: &str) -> Answer {
    Answer::Page(
        String::new(),
        format!("<!doctype html><html lang=en>{body}</html>"),
    )
}

fn script(body: &str) -> Answer {
    Answer::Raw(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/javascript\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn redirect(to: &str) -> Answer {
    Answer::Raw(format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"
    ))
}

fn answer(method: &str, path: &str, head: &str, body: &str, port: u16, again: usize) -> Answer {
    let is_in = header(head, "cookie").is_some_and(|it| it.contains("user=ada"));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    match path {
        _ if path.starts_with("/aim/") => page(&crate::aim::page(path, port)),
        "/shop" => page(&shop(port)),
        "/inner" => page("<title>inner</title><button onclick=\"document.body.append('pressed-here')\">Pay now</button><p>Inside another site</p>"),
        "/near" => page("<title>near</title><p>Same site inside</p><input aria-label=Coupon>"),
        "/login" if method == "POST" && body.contains("name=ada") && body.contains("word=lovelace") => {
            Answer::Raw("HTTP/1.1 302 Found\r\nset-cookie: user=ada; Path=/; Max-Age=86400\r\nlocation: /home\r\ncontent-length: 0\r\n\r\n".to_owned())
        }
        "/login" => page("<title>Log in</title><form method=post><label>Name <input name=name></label><label>Password <input type=password name=word></label><button>Sign in</button></form>"),
        "/note" => page("<title>none</title><script>document.title=localStorage.getItem('word')??'none'</script>"),
        "/home" if is_in => page("<title>Home</title><h1>Hello, ada</h1>"),
        "/home" => redirect("/login"),
        "/article" => {
            let text = "Rivers carry silt to the sea, and the sea gives it back as rain over the hills. ".repeat(6);
            let body: String = (1..=300).map(|it| format!("<h2>Part {it}</h2><p>{it}: {text}</p>")).collect();
            let links: String = (1..=500).map(|it| format!("<li><a href=/shop?{it}>Link number {it} of the menu</a></li>")).collect();
            page(&format!("<title>Long read</title><nav><ul>{links}</ul></nav><main><h1>On rivers</h1>{body}</main>"))
        }
        "/many" => {
            let all: String = (0..10_000).map(|it| format!("<button>Button {it}</button>")).collect();
            page(&format!("<title>many</title><main>{all}</main>"))
        }
        "/redraw" => page("<title>redraw</title><div id=box><button>Count 0</button><button>Save</button></div><script>let n=0;document.addEventListener('click',()=>{n++;box.innerHTML='<button>Count '+n+'</button><button>Save</button>'})</script>"),
        "/dialog" => page("<title>dialog</title><button onclick=\"document.title=String(confirm('Really?'))\">Ask</button><button onclick='for(let i=0;i<40;i++)alert(i)'>Loop</button>"),
        "/nagging" => page("<title>nagging</title><script>for(;;)alert('again')</script>"),
        "/unsaved" => page("<title>unsaved</title><button onclick=\"document.title='touched'\">Touch</button><a href=/shop>Leave</a>\
            <script>addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x'; })</script>"),
        "/restless" => page("<title>restless</title><button>Touch</button><script>\
            const go = () => { location.href = '/near'; setTimeout(() => fetch('/late'), 3000) };\
            addEventListener('click', () => setTimeout(() => fetch('/asked-late').then(go), 300))</script>"),
        "/asked-late" => Answer::Once(" /late", 1, ""),
        "/late" => Answer::Once(" /late", 2, "<title>late</title>"),
        "/restless-back" => page("<title>restless</title><button>Touch</button><script>\
            const go = () => { location.href = '/near'; setTimeout(() => fetch('/again'), 3000) };\
            addEventListener('click', () => setTimeout(() => fetch('/asked-again').then(go), 300))</script>"),
        "/asked-again" => Answer::Once(" /again", 2, ""),
        // Every other time it comes only when it is asked for once more.
        "/again" => Answer::Once(" /again", again | 1, "<title>again</title>"),
        "/popup" => page("<title>popup</title><a href=/near target=_blank>Open near</a><button onclick=\"for(let i=0;i<100;i++)window.open('/near?'+i)\">Flood</button>"),
        "/small" => page("<title>small</title><button onclick=\"window.open('/near','','width=300,height=300')\">Small</button>"),
        "/form" => page("<title>form</title><form action=/near><input aria-label=Query name=q><select aria-label=Colour><option value=r>Red<option value=g>Green</select><textarea aria-label=Note></textarea><div contenteditable aria-label=Rich role=textbox>old</div><label><input type=checkbox>Agree</label><input type=file aria-label=Attachment><button>Go</button></form><div style='height:3000px'></div><p id=hover onmouseover=\"this.textContent='hovered'\">below</p>"),
        "/covered" => page("<title>covered</title><button onclick=\"document.title='hit'\">Under</button><div id=veil style='position:fixed;inset:0;background:#0008'></div>"),
        "/file" => Answer::Raw("HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-disposition: attachment; filename=\"../../report.csv\"\r\ncontent-length: 5\r\n\r\na,b,c".to_owned()),
        "/endless" => Answer::Endless,
        "/stream" => Answer::Stream,
        "/busy" => page("<title>busy</title><script>setInterval(() => document.body.append(document.createElement('p')), 20)</script>"),
        "/asking" => page("<title>asking</title><script>fetch('/never')</script>"),
        "/keys" => page("<title>keys</title><input aria-label=Word><p onmouseover=\"document.title='pointed'\"><button>Point</button></p>\
            <button onclick=\"document.title=prompt('Who?','nobody')\">Ask</button>\
            <button id=runner style='position:absolute;top:300px;left:20px' onclick=\"document.title='caught'\">Runner</button>\
            <script>let n=0;addEventListener('keydown',(e)=>{if(e.key==='Escape'||e.ctrlKey)document.title=(e.ctrlKey?'Ctrl+':'')+e.key});\
            setInterval(()=>{runner.style.left=(20+(n++%2)*400)+'px'},700)</script>"),
        "/download" => page("<title>download</title><a href=/file>Report</a><a href=/endless download>Endless</a>"),
        "/nothing" => Answer::Raw("HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n".to_owned()),
        "/never" => Answer::Never,
        "/polls" => page("<title>polls</title><button onclick=\"document.title='hit'\">Hit</button><a href=/near>Away</a><script>setInterval(() => fetch('http://polls.test:' + location.port + '/never?' + Math.random(), { mode: 'no-cors' }), 300)</script>"),
        "/ticks" => page("<title>ticks</title><script>let left = 6; const ask = () => fetch('/near').then(() => --left ? setTimeout(ask, 100) : document.title = 'done'); ask()</script>"),
        "/slow" => page("<title>slow</title><p>there</p><img src=/never>"),
        "/round" => redirect("/round?again"),
        "/to-private" => redirect("http://10.9.8.7/secret"),
        "/to-other" => redirect(&format!("http://other.test:{port}/near")),
        "/to-file" => redirect("file:///etc/passwd"),
        "/hang" => page("<title>hang</title><p>soon</p><button onclick='for(;;);'>Hang</button>"),
        "/log" => page("<title>log</title><script>console.error('bad thing', 7);console.log('quiet');fetch('/near');fetch('/missing')</script>"),
        "/rebind" => Answer::Raw({
            let page = "<title>rebind</title><script>fetch('/near?again').then(() => 'reached', () => 'failed').then(it => document.title = it)</script>";
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncache-control: no-store\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{page}", page.len())
        }),
        "/worker" => page("<title>worker</title><link rel=prefetch href='http://10.9.8.21/ahead'><script>\
            navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then((it) => {\
                navigator.serviceWorker.onmessage = (e) => { document.title = e.data; };\
                it.active.postMessage('go'); }, (e) => { document.title = String(e); });</script>"),
        "/sw.js" => script("self.onmessage = (e) => fetch('http://10.9.8.22/deep', {mode: 'no-cors'}).then(() => 'reached', () => 'failed').then(it => e.source.postMessage('worker ' + it)); \
            self.onactivate = (e) => e.waitUntil(clients.claim());"),
        "/offline" => page("<title>begins</title><script>navigator.serviceWorker.register('/offline.js').then(() => navigator.serviceWorker.ready).then(() => { document.title = 'ready'; })</script>"),
        "/offline.js" => script("self.onactivate = (e) => e.waitUntil(clients.claim()); \
            self.onfetch = (e) => { if (e.request.mode === 'navigate') e.respondWith(new Response('<title>from the worker</title>', {headers: {'content-type': 'text/html'}})); };"),
        "/blob" => page("<title>blob</title><script>\
            const inner = new Blob([\"<script>fetch('http://10.9.8.23/blob',{mode:'no-cors'}).then(()=>parent.postMessage('blob reached','*'),()=>parent.postMessage('blob failed','*'))</\" + 'script>'], {type: 'text/html'});\
            addEventListener('message', (e) => { document.title = e.data; });\
            const frame = document.createElement('iframe'); frame.src = URL.createObjectURL(inner); document.documentElement.append(frame);</script>"),
        "/eater" => page("<title>eater</title><button onclick='const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()).map(String))'>Eat</button>"),
        "/trap" => page("<title>trap</title><input aria-label=Trap id=trap><input aria-label=Other id=other><a href=/near>Leave</a>\
            <script>trap.focus(); addEventListener('focusin', () => trap.focus()); addEventListener('focusout', () => setTimeout(() => trap.focus())); \
            addEventListener('keydown', (e) => { if (e.key === 'Tab' || e.key === 'Escape') e.preventDefault(); }, true);</script>"),
        "/lying" => page("<title>lying</title><button id=under onclick=\"document.title='hit'\">Under</button><input id=word type=password aria-label=Word>\
            <div style='position:fixed;inset:0' onclick=\"document.title='veil'\"></div>\
            <script>document.elementFromPoint = Document.prototype.elementFromPoint = () => under; \
            Element.prototype.getBoundingClientRect = () => ({left:0,top:0,width:0,height:0}); \
            Object.defineProperty(word, 'type', {value: 'text'}); Element.prototype.getAttribute = () => null; \
            Object.defineProperty(Node.prototype, 'isConnected', {get: () => false});</script>"),
        "/tracked" => page("<title>tracked</title><input id=word aria-label=Word><select id=list aria-label=List><option>a<option>b</select><script>\
            for (const one of [word, list]) { const own = Object.getOwnPropertyDescriptor(one.constructor.prototype, 'value'); \
                let known = own.get.call(one); \
                Object.defineProperty(one, 'value', {configurable: true, get() { return own.get.call(this); }, set(it) { known = String(it); own.set.call(this, it); }}); \
                addEventListener(one === list ? 'change' : 'input', (e) => { if (e.target === one && own.get.call(one) !== known) { known = own.get.call(one); document.title = 'heard ' + known; } }); }</script>"),
        "/shadow-busy" => page("<title>shadow</title><div id=host></div><script>const root=host.attachShadow({mode:'open'});\
            setInterval(() => root.append(document.createElement('p')), 20)</script>"),
        "/frame-busy" => page(&format!("<title>outer</title><iframe src='http://pay.test:{port}/busy' width=300 height=100></iframe>")),
        "/frame-hidden" => page(&format!("<title>outer</title><iframe src='http://pay.test:{port}/busy' style='display:none'></iframe>")),
        "/overlaid" => page(&format!("<title>overlaid</title><iframe id=frame src='http://pay.test:{port}/inner' width=300 height=120></iframe>\
            <iframe src=/near width=300 height=120></iframe>\
            <div id=veil style='position:fixed;inset:0' onclick=\"document.title='veil'\"></div>")),
        "/same" => page("<title>same</title><script>history.replaceState(sessionStorage.n = +(sessionStorage.n ?? 0) + 1, '')</script><button onclick=\"history.pushState('pushed', '')\">Push</button>\
            <script>addEventListener('popstate', (e) => { document.title = 'popped ' + e.state; })</script>"),
        "/edit" => page("<title>edit</title><input aria-label=One value=mine><input aria-label=Two>"),
        "/combo" => page("<title>combo</title><input list=all aria-label=City><datalist id=all><option>Rome</datalist><input role=combobox aria-label=Street>\
            <div id=send style='width:80px;height:20px' onclick=\"document.title='sent'\">Send</div>"),
        "/code" => page(&format!("<title>code</title><input autocomplete=one-time-code value={query}><div id=host></div>\
            <script>host.attachShadow({{mode:'open'}}).innerHTML='<input aria-label=\"API token\" style=\"color:red\" value={query}>'</script>")),
        "/shown" => page(&format!("<title>shown</title><label>Zugang <input id=access type=password value={query}></label>\
            <label>Ihr Passwort <input value={query}></label><label>Your PIN: <input value={query}></label><label>Menge <input value=amount-7></label>\
            <p>Before <span contenteditable role=textbox aria-label='Secret note'>{query}</span> after</p>\
            <div contenteditable aria-label='Password'>{query}</div><div contenteditable aria-label=Draft>drafted</div>\
            <script>access.type = 'text'</script>")),
        "/plain-field" => page(&format!("<title>field</title><input aria-label=Amount value={query}>")),
        "/buffers" => page("<title>buffers</title><button onclick='const all = []; setInterval(() => { for (let n = 0; n < 8; n++) all.push(new Uint8Array(1 << 23).fill(7)); }, 20)'>Eat</button>"),
        "/blobs" => page("<title>blobs</title><button onclick='const all = [], piece = new Uint8Array(1 << 23); setInterval(() => { for (let n = 0; n < 4; n++) all.push(new Blob([piece])); }, 50)'>Eat</button>"),
        "/spin" => page("<title>spin</title><script>location.replace('/spin?' + Math.random())</script>"),
        "/reach" => page(&reach(port)),
        "/everywhere" => Answer::Page(
            format!("content-security-policy: script-src 'self' 'unsafe-inline' blob: data:; report-uri http://{query}/e-report\r\n"),
            everywhere(query),
        ),
        "/whoami" => {
            let said = header(head, "authorization");
            page(&format!("<title>{}</title>", said.as_deref().unwrap_or("nobody")))
        }
        "/to-whoami" => redirect(&format!("http://other.test:{port}/whoami")),
        "/members" | "/members-proxy" => {
            let (status, name) = match path {
                "/members" => ("401 Unauthorized", "www-authenticate"),
                _ => ("407 Proxy Authentication Required", "proxy-authenticate"),
            };
            let body = "<title>Members</title><h1>Members only</h1>";
            Answer::Raw(format!(
                "HTTP/1.1 {status}\r\n{name}: Basic realm=\"members\"\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ))
        }
        "/closed-shadow" => page("<title>closed</title><p>In the open</p><x-card></x-card><div id=plain></div><script>\
            customElements.define('x-card', class extends HTMLElement { connectedCallback() { \
                this.attachShadow({mode:'closed'}).innerHTML = '<h2>Behind the card</h2><p>Closed words</p><x-inner></x-inner>'; } });\
            customElements.define('x-inner', class extends HTMLElement { connectedCallback() { \
                this.attachShadow({mode:'closed'}).innerHTML = '<p>Deeper words</p><input type=password value=sesame>'; } });\
            plain.attachShadow({mode:'closed'}).innerHTML = '<p>In a plain host</p>'</script>"),
        "/missing" => Answer::Raw("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned()),
        _ => page("<title>plain</title><p>plain</p>"),
    }
}

fn shop(port: u16) -> String {
    format!(
        "<head><title>Shop</title><meta name=description content='Lamps and chairs'></head><body>\
         <header><a href=/home>Account</a></header>\
         <form role=search><input type=search aria-label='Search products' name=q></form>\
         <main><h1>Lamps</h1><ul><li>Desk lamp, 20 €</li><li>Floor lamp, 50 €</li></ul>\
         <button onclick=\"document.querySelector('#cart').textContent='1 in cart'\">Add to cart</button><p id=cart>empty</p>\
         <input type=password aria-label='Card word' value=sesame><input aria-label='API token' value=abcdef>\
         <x-stars></x-stars>\
         <iframe src=/near width=300 height=80></iframe>\
         <iframe src='http://pay.test:{port}/inner' width=300 height=120></iframe></main>\
         <footer><a href=/login>Imprint</a></footer>\
         <script>customElements.define('x-stars',class extends HTMLElement{{connectedCallback(){{\
         this.attachShadow({{mode:'open'}}).innerHTML=\"<button onclick=\\\"this.textContent='Rated'\\\">Rate it</button><p>In the shadow</p>\"}}}})</script></body>"
    )
}

/// Every way in which a page can make a connection to somebody, each with a name of its own.
fn everywhere(host: &str) -> String {
    format!(
        "<!doctype html><title>everywhere</title>\
         <link rel=prefetch href='http://{host}/e-prefetch'><link rel=preconnect href='http://{host}'>\
         <link rel=preload as=image href='http://{host}/e-preload'><link rel=stylesheet href='http://{host}/e-style'>\
         <link rel=icon href='http://{host}/e-icon'><link rel=manifest href='http://{host}/e-manifest'>\
         <style>@import 'http://{host}/e-import'; @font-face {{ font-family: f; src: url('http://{host}/e-font'); }} \
         body {{ font-family: f; background: url('http://{host}/e-background'); }}</style>\
         <script type=speculationrules>{{\"prefetch\": [{{\"source\": \"list\", \"urls\": [\"http://{host}/e-speculation\"]}}], \
         \"prerender\": [{{\"source\": \"list\", \"urls\": [\"http://{host}/e-prerender\"]}}]}}</script>\
         <body>words<img src='http://{host}/e-image'><iframe src='http://{host}/e-frame'></iframe>\
         <iframe srcdoc=\"<img src='http://{host}/e-srcdoc'>\"></iframe>\
         <iframe srcdoc=\"<meta http-equiv=refresh content='0;url=http://{host}/e-refresh'>\"></iframe>\
         <object data='http://{host}/e-object'></object><embed src='http://{host}/e-embed'>\
         <video src='http://{host}/e-video'></video><script src='http://{host}/e-script'></script>\
         <form id=form method=post target=inner action='http://{host}/e-form'></form><iframe name=inner></iframe>\
         <a id=ping href='#here' ping='http://{host}/e-ping'>ping</a>\
         <script>\
         const quiet = (what) => {{ try {{ what()?.catch?.(() => 0); }} catch {{}} }};\
         const inside = (kind) => URL.createObjectURL(new Blob([`fetch('http://{host}/e-${{kind}}', {{mode: 'no-cors'}})`]));\
         quiet(() => fetch('http://{host}/e-fetch', {{mode: 'no-cors'}}));\
         quiet(() => fetch('http://{host}/e-keepalive', {{mode: 'no-cors', keepalive: true, method: 'POST'}}));\
         quiet(() => {{ const x = new XMLHttpRequest(); x.open('GET', 'http://{host}/e-xhr'); x.send(); }});\
         quiet(() => navigator.sendBeacon('http://{host}/e-beacon', 'x'));\
         quiet(() => new EventSource('http://{host}/e-events'));\
         quiet(() => new WebSocket('ws://{host}/e-socket'));\
         quiet(() => new Worker(inside('worker')));\
         quiet(() => new SharedWorker(inside('shared')));\
         quiet(() => new WebTransport('https://{host}/e-transport').ready);\
         quiet(() => new Image().src = 'https://{host}/e-encrypted');\
         quiet(() => {{ const f = document.createElement('iframe'); f.src = `data:text/html,<img src='http://{host}/e-data'>`; document.body.append(f); }});\
         quiet(() => {{ const f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob([`<img src='http://{host}/e-blob'>`], {{type: 'text/html'}})); document.body.append(f); }});\
         form.submit(); ping.click();\
         setTimeout(() => {{ document.title = 'tried'; }}, 3000);\
         </script></body>"
    )
}

/// Everything a page can try to reach somebody it should not.
fn reach(port: u16) -> String {
    format!(
        "<head><title>reach</title><link rel=prefetch href='http://10.9.8.7/prefetch'><link rel=dns-prefetch href='//leak.invalid'>\
         </head><body><img src='http://10.9.8.7/image'><iframe src='http://10.9.8.7/frame'></iframe><iframe src='file:///etc/passwd'></iframe>\
         <script>\
         const tries = [];\
         const note = (name, promise) => tries.push(promise.then(() => name + ':reached', () => name + ':failed'));\
         note('fetch', fetch('http://10.9.8.7/fetch', {{mode: 'no-cors'}}));\
         note('number', fetch('http://0x0a090807/number', {{mode: 'no-cors'}}));\
         note('self', fetch('http://forbidden.test:{port}/near', {{mode: 'no-cors'}}));\
         note('beacon', new Promise((yes, no) => navigator.sendBeacon('http://10.9.8.7/beacon') ? no() : no()));\
         note('socket', new Promise((yes, no) => {{ const s = new WebSocket('ws://10.9.8.7/socket'); s.onopen = yes; s.onerror = no; }}));\
         note('worker', new Promise((yes, no) => {{ const w = new Worker(URL.createObjectURL(new Blob([\"fetch('http://10.9.8.7/worker',{{mode:'no-cors'}}).then(()=>postMessage(1),()=>postMessage(0))\"]))); w.onmessage = (e) => e.data ? yes() : no(); w.onerror = no; }}));\
         note('data', new Promise((yes, no) => {{ const f = document.createElement('iframe'); f.src = \"data:text/html,<script>fetch('http://10.9.8.7/data',{{mode:'no-cors'}}).then(()=>parent.postMessage('in','*'),()=>parent.postMessage('out','*'))</\" + 'script>'; addEventListener('message', (e) => e.data === 'in' ? yes() : no()); document.body.append(f); }}));\
         note('fine', fetch('/near'));\
         Promise.all(tries).then((all) => {{ document.title = all.join(' '); }});\
         </script></body>"
    )
}
