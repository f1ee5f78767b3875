import Testing

@testable import MediaCLI

@Suite struct ProxyVariableTests {
    @Test(
        arguments: [
            (["http_proxy": "http://ann:secret@127.0.0.1:3"], "Failed to connect to 127.0.0.1 port 3", "http_proxy"),
            (["HTTPS_PROXY": "proxy.example:3128"], "Could not resolve proxy: proxy.example", "HTTPS_PROXY"),
            (["ALL_PROXY": "socks5h://[::1]:3"], "Failed to connect to ::1 port 3", "ALL_PROXY"),
            (["https_proxy": "http://p:1"], "CONNECT tunnel failed, response 403", "https_proxy"),
            (["https_proxy": "http://p:1"], "Failed to connect to media.example.org port 443", nil),
            (["https_proxy": ""], "Failed to connect to 127.0.0.1 port 3", nil),
            ([:], "CONNECT tunnel failed, response 403", nil),
            // libcurl reads no HTTP_PROXY: a CGI program's clients could set it (httpoxy.org).
            (["HTTP_PROXY": "http://127.0.0.1:3"], "Failed to connect to 127.0.0.1 port 3", nil),
        ] as [([String: String], String, String?)]
    )
    func theVariableOfTheFailedProxyIsFound(environment: [String: String], detail: String, name: String?) {
        let variable = ProxyVariable(causing: detail, environment: environment)
        #expect(variable?.name == name)
        #expect(variable?.hint.contains("secret") != true)
    }
}
