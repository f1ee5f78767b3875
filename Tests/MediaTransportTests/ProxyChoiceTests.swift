import Testing

@testable import MediaTransport

/// The environment's proxies for plain http (curl(1), section ENVIRONMENT).
@Suite("Proxies from the environment")
struct ProxyChoiceTests {
    @Test(
        arguments: [
            ("http://127.0.0.1:8080", ["http_proxy": "http://p:1"], "http_proxy"),
            ("http://localhost", ["all_proxy": "socks5://p:1"], "all_proxy"),
            ("http://localhost", ["ALL_PROXY": "p:1"], "ALL_PROXY"),
            ("http://[::1]:8080", ["http_proxy": "p:1", "all_proxy": "q:1"], "http_proxy"),
            ("http://localhost", ["HTTP_PROXY": "p:1"], nil),
            ("http://localhost", ["https_proxy": "p:1"], nil),
            ("http://localhost", ["http_proxy": ""], nil),
            ("https://localhost", ["http_proxy": "p:1", "all_proxy": "p:1"], nil),
            ("http://127.0.0.1", ["http_proxy": "p:1", "no_proxy": "*"], nil),
            ("http://127.0.0.1", ["http_proxy": "p:1", "no_proxy": "a.test, 127.0.0.1"], nil),
            ("http://127.0.0.1", ["http_proxy": "p:1", "NO_PROXY": "127.0.0.0/8"], nil),
            ("http://127.0.0.1", ["http_proxy": "p:1", "no_proxy": "128.0.0.0/8,127.0.0.1/33,::1"], "http_proxy"),
            ("http://[::1]", ["http_proxy": "p:1", "no_proxy": "::1"], nil),
            ("http://sub.localhost", ["http_proxy": "p:1", "no_proxy": ".localhost"], nil),
            ("http://sub.localhost", ["http_proxy": "p:1", "no_proxy": "LOCALHOST"], nil),
            ("http://sublocalhost", ["http_proxy": "p:1", "no_proxy": "localhost"], "http_proxy"),
            ("http://127.0.0.1", ["http_proxy": "p:1", "no_proxy": ""], "http_proxy"),
        ] as [(String, [String: String], String?)]
    )
    func theVariableThatApplies(address: String, environment: [String: String], name: String?) throws {
        let origin = try ServerURL(address).origin
        #expect(ProxyChoice.variable(for: origin, in: { environment[$0] }) == name)
    }

    @Test func passwordsInAnyForm() {
        let environment = ["all_proxy": "http://ann:s%40cret@p:1/", "https_proxy": "p:2", "http_proxy": "bob@p"]
        // printf 'ann:s@cret' | base64
        #expect(ProxyChoice.passwords(in: { environment[$0] }) == ["s%40cret", "s@cret", "YW5uOnNAY3JldA"])
    }
}
