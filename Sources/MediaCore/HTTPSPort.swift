/// The response from a web server to plain HTTP on an HTTPS port: a page with status 400.
package enum HTTPSPort {
    /// The detail of errors for such a response.
    package static let detail = "this port requires https"

    /// Whether a page is the one from Apache ("speaking plain HTTP to an SSL-enabled server port") or nginx ("The plain
    /// HTTP request was sent to HTTPS port").
    package static func isRefusal(_ page: some Sequence<UInt8>) -> Bool {
        let text = String(decoding: Array(page.prefix(4_096)), as: UTF8.self).lowercased()
        return text.contains("plain http") && (text.contains("ssl-enabled server port") || text.contains("https port"))
    }
}
