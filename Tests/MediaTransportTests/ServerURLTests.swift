import MediaTransport
import Testing

@Suite("Addresses of servers")
struct ServerURLTests {
    @Test(
        "the scope is the host in lowercase and punycode, with a port only if it is not the default",
        arguments: [
            ("https://Media.Example.org", "media.example.org", "https://media.example.org"),
            ("https://media.example.org:443/", "media.example.org", "https://media.example.org"),
            ("https://media.example.org:8443", "media.example.org:8443", "https://media.example.org:8443"),
            ("http://media.example.org:80", "media.example.org", "http://media.example.org"),
            ("http://media.example.org:443", "media.example.org:443", "http://media.example.org:443"),
            ("HTTP://LOCALHOST:5000", "localhost:5000", "http://localhost:5000"),
            ("https://bücher.example", "xn--bcher-kva.example", "https://xn--bcher-kva.example"),
            ("https://[::1]:8443", "[::1]:8443", "https://[::1]:8443"),
            ("https://192.168.1.20", "192.168.1.20", "https://192.168.1.20"),
        ]
    )
    func scope(text: String, scope: String, description: String) throws {
        let server = try ServerURL(text)
        #expect(server.scope == scope)
        #expect(server.description == description)
        #expect(!server.assumedScheme)
    }

    @Test("an address without a scheme gets https")
    func assumedScheme() throws {
        let server = try ServerURL("media.example.org:8443")
        #expect(server.assumedScheme)
        #expect(server.description == "https://media.example.org:8443")
    }

    @Test(
        "an invalid server address is refused",
        arguments: [
            ("ftp://media.example.org", ServerURLError.unsupportedScheme("ftp")),
            ("file:///etc/passwd", .malformed("no host name; use the form https://HOST[:PORT]")),
            ("http:///x", .malformed("no host name; use the form https://HOST[:PORT]")),
            ("", .malformed("no host name; use the form https://HOST[:PORT]")),
            ("https://ann:secret@media.example.org", .containsCredentials),
            ("https://ann@media.example.org", .containsCredentials),
            ("https://media.example.org/db/database.php", .containsPath(suggestion: "https://media.example.org")),
            ("https://media.example.org/?a=1", .containsPath(suggestion: "https://media.example.org")),
            ("https://media.example.org/#top", .containsPath(suggestion: "https://media.example.org")),
        ]
    )
    func refused(text: String, error: ServerURLError) {
        #expect(throws: error) { try ServerURL(text) }
    }

    @Test(
        "text that is not an address is malformed",
        arguments: [
            "javascript:alert(1)", "https://", "https://a b", "http://[::1", "https://host:99999", "https://6%%330",
        ]
    )
    func malformed(text: String) {
        #expect {
            try ServerURL(text)
        } throws: { error in
            if case .malformed? = error as? ServerURLError { true } else { false }
        }
    }

    @Test(
        "loopback is a loopback address or a name that resolves to one",
        arguments: [
            ("http://localhost", true), ("http://sub.localhost", true), ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true), ("http://[::1]", true), ("http://127.example.org", false),
            ("http://localhost.example.org", false), ("http://192.168.0.1", false), ("http://127.0.0.1.5", false),
            ("http://127.999.1.1", false), ("http://127..1", false), ("http://127.0.0.1a", false),
            ("http://[::2]", false), ("http://[::ffff:127.0.0.1]", false), ("http://[0:0:0:0:0:0:0:1]", true),
        ]
    )
    func loopback(text: String, isLoopback: Bool) throws {
        #expect(try ServerURL(text).origin.isLoopback == isLoopback)
    }

    @Test("query values are percent-encoded (RFC 3986 section 2.1)")
    func query() throws {
        let url = try ServerURL("https://h").resource("/db/a.php", query: [("format", "json"), ("q", "a b&c=ü/~")])
        #expect(url.text == "https://h/db/a.php?format=json&q=a%20b%26c%3D%C3%BC%2F~")
    }

    @Test(
        "a server address may have a path where that is allowed",
        arguments: [
            ("https://h/photos", "/photos", "https://h/photos"),
            ("https://h/photos///", "/photos", "https://h/photos"),
            ("http://h:5050/a/b/", "/a/b", "http://h:5050/a/b"),
            ("https://h", "", "https://h"), ("https://h/", "", "https://h"), ("https://h//", "", "https://h"),
            ("h/Photos", "/Photos", "https://h/Photos"),
            // RFC 3986 section 5.2.4: dot segments are resolved here, not by a later recipient.
            ("https://h/a/../b/./c", "/b/c", "https://h/b/c"), ("https://h/../..", "", "https://h"),
            ("https://h/a//b", "/a//b", "https://h/a//b"),
            ("https://h/a%20b", "/a%20b", "https://h/a%20b"),
        ]
    )
    func basePath(text: String, path: String, description: String) throws {
        let server = try ServerURL(text, allowingPath: true)
        #expect(server.basePath == path)
        #expect(server.description == description)
        #expect(server.resource("/api/health").text == description + "/api/health")
        #expect(try ServerURL(server.description, allowingPath: true).description == description)
        #expect(server.origin.description == (description.contains("5050") ? "http://h:5050" : "https://h"))
    }

    @Test(
        "a query or a fragment is refused, with or without a path",
        arguments: ["https://h/photos?a=1", "https://h/photos#top", "https://h?a", "https://h/photos/?"]
    )
    func queryAfterPath(text: String) {
        #expect(throws: ServerURLError.containsPath(suggestion: "https://h")) {
            try ServerURL(text, allowingPath: true)
        }
    }

    @Test("credentials and unsupported schemes are refused with a path as well")
    func refusedBelowPath() {
        #expect(throws: ServerURLError.containsCredentials) {
            try ServerURL("https://ann:secret@h/photos", allowingPath: true)
        }
        #expect(throws: ServerURLError.unsupportedScheme("ftp")) { try ServerURL("ftp://h/photos", allowingPath: true) }
    }
}
