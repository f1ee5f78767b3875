import Testing

@testable import MediaTransport

/// Secrets in a server's output. They are registered for the whole process, so each test has its own.
@Suite("Known secrets")
struct KnownSecretsTests {
    @Test(
        "a password is masked in every form in which a page may repeat it",
        arguments: [
            #"p"w/ö&é+%41'x"#, "p%22w%2F%C3%B6%26%C3%A9%2B%2541%27x", "p%22w%2f%c3%b6%26%c3%a9%2b%2541'x",
            #"p\"w\/ö&é+%41'x"#, #"p\u0022w/\u00f6\u0026\u00e9+%41\u0027x"#,
            "p&quot;w/ö&amp;é+%41&#039;x", "p&#34;w&#x2F;&#xf6;&amp;&#233;+%41&apos;x",
        ]
    )
    func forms(form: String) {
        KnownSecrets.add(#"p"w/ö&é+%41'x"#)
        #expect(KnownSecrets.masked("before \(form) after") == "before *** after")
        #expect(KnownSecrets.masked("\(form)\(form)") == "******")
    }

    @Test("Basic credentials are masked as they were sent, and URL-encoded")
    func basic() throws {
        let url = try ServerURL("http://localhost").resource("/")
        var request = HTTPRequest(.get, url, repeatability: .safe)
        request.authorization = .basic(user: "ann", password: "known-Passw0rd?>", for: url.origin)
        KnownSecrets.add(request)
        // printf 'ann:known-Passw0rd?>' | base64
        let form = "YW5uOmtub3duLVBhc3N3MHJkPz4="
        #expect(KnownSecrets.masked("Authorization: Basic \(form)\r\n") == "Authorization: Basic ***=\r\n")
        #expect(!KnownSecrets.masked("auth=YW5uOmtub3duLVBhc3N3MHJkPz4%3D").contains("YW5u"))
        #expect(KnownSecrets.masked("known-Passw0rd?> known-Passw0rd%3F%3E") == "*** ***")
        #expect(KnownSecrets.masked("password=known-Passw0rd%3F%3E+x") == "password=***+x")
    }

    @Test("two logins used alternately are both masked")
    func twoLogins() throws {
        let url = try ServerURL("http://localhost").resource("/")
        for password in ["known-first-login", "known-second-login", "known-first-login"] {
            KnownSecrets.add(.basic(user: "ann", password: password, for: url.origin))
            #expect(KnownSecrets.masked("sent \(password)") == "sent ***")
        }
        #expect(KnownSecrets.masked("known-first-login known-second-login") == "*** ***")
    }

    @Test("a space in a form is a plus sign")
    func form() {
        KnownSecrets.add("two known words")
        #expect(KnownSecrets.masked("a=two+known+words&b=two%20known%20words") == "a=***&b=***")
    }

    @Test("a key and a token in a request are masked")
    func keysAndTokens() throws {
        let url = try ServerURL("http://localhost").resource("/")
        var request = HTTPRequest(.get, url, repeatability: .safe)
        request.authorization = .apiKey("known-key-0815", for: url.origin)
        request.tokens = ["known-token-4711"]
        KnownSecrets.add(request)
        #expect(KnownSecrets.masked("known-key-0815, known-token-4711") == "***, ***")
    }

    @Test("a secret shorter than four bytes is not searched for")
    func shortest() {
        KnownSecrets.add("qzx")
        KnownSecrets.add("qzxw")
        #expect(KnownSecrets.masked("qzx qzxw") == "qzx ***")
    }

    @Test("a part of a secret at the end of a truncated text is masked")
    func cutOff() {
        KnownSecrets.add("known-secret-that-is-cut")
        let long = String(repeating: "long text ", count: 20)
        #expect(KnownSecrets.masked(long + "known-secret-th…") == long + "***…")
        #expect(KnownSecrets.masked(long + "known-secret-th") == long + "***")
        #expect(KnownSecrets.masked("it is well known") == "it is well known")
    }

    @Test("other text is unchanged")
    func unchanged() {
        KnownSecrets.add("known-secret-of-no-text")
        for text in ["", "%", "%zz", "100 % & more", "\\", "a\\u12", "&#x110000; &", "\u{0}\u{1b}[31m"] {
            #expect(KnownSecrets.masked(text) == text)
        }
    }

    @Test("an invalid proxy address is not repeated with its password")
    func proxyPasswords() {
        for form in ProxyChoice.passwords(in: { $0 == "http_proxy" ? "ftp://ann:known%2Dproxy-pw@p" : nil }) {
            KnownSecrets.add(form)
        }
        let words = "Unsupported proxy scheme for 'ftp://ann:known%2Dproxy-pw@p'"
        #expect(KnownSecrets.masked(words) == "Unsupported proxy scheme for 'ftp://ann:***@p'")
    }
}
