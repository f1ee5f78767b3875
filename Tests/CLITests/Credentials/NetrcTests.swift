import Foundation
import TestSupport
import Testing

@testable import MediaCLI

@Suite struct NetrcTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var text: String
        var user: String?
        /// `login:password`; nil if no entry matches.
        var found: String?
        /// False where curl 7.88 is wrong: it offers the password of another login.
        var isRequestedByCurl = true
        var testDescription: String { text + (user.map { " as \($0)" } ?? "") }
    }

    /// Each is also given to curl, for the host `127.0.0.1`.
    static let cases: [Case] = [
        Case(text: "machine 127.0.0.1 login a password b", found: "a:b"),
        Case(text: "machine 127.0.0.1\n\tlogin a\n\tpassword b\n", found: "a:b"),
        Case(text: "machine 127.0.0.1 password b login a", found: "a:b"),
        Case(text: "MACHINE 127.0.0.1 LOGIN a PASSWORD b", found: "a:b"),
        Case(text: "machine other login x password y\nmachine 127.0.0.1 login a password b", found: "a:b"),
        Case(text: "machine other login x password y", found: nil),
        Case(text: "machine other login x password y\ndefault login d password e", found: "d:e"),
        Case(text: "machine 127.0.0.1 login a password b\ndefault login d password e", found: "a:b"),
        Case(text: "machine 127.0.0.1 login a password b\nmachine 127.0.0.1 login c password d", found: "a:b"),
        Case(
            text: "machine 127.0.0.1 login a password b\nmachine 127.0.0.1 login c password d",
            user: "c",
            found: "c:d"
        ),
        Case(text: "machine 127.0.0.1 login a password b", user: "c", found: nil, isRequestedByCurl: false),
        Case(text: "machine 127.0.0.1 login \"a b\" password \"c \\\"d\\\\ \\t\"", found: "a b:c \"d\\ \t"),
        Case(text: "# a comment\nmachine 127.0.0.1 login a # more\npassword b", found: "a:b"),
        Case(text: "#machine 127.0.0.1 login x password y\nmachine 127.0.0.1 login a password b", found: "a:b"),
        Case(text: "# machine 127.0.0.1 login x password y", found: nil),
        Case(text: "machine 127.0.0.1 login a password \"#b\"", found: "a:#b"),
        Case(text: "machine 127.0.0.1 login a password b#c", found: "a:b#c"),
        Case(
            text: "macdef init\ncd /x\nmachine 127.0.0.1 login m password n\n\nmachine 127.0.0.1 login a password b",
            found: "a:b"
        ),
        Case(text: "machine 127.0.0.1 login a password b\r\n", found: "a:b"),
        Case(text: "machine 127.0.0.1 login a account z password b", found: "a:b"),
        Case(text: "", found: nil),
        Case(text: "machine", found: nil),
    ]

    @Test(arguments: cases) func entries(example: Case) throws {
        let entry = try Netrc(example.text).entry(host: "127.0.0.1", user: example.user)
        #expect(entry.map { "\($0.login ?? ""):\($0.password ?? "")" } == example.found)
    }

    @Test(arguments: cases.filter(\.isRequestedByCurl)) func curlReadsTheSame(example: Case) throws {
        let directory = try TemporaryDirectory()
        try Data(example.text.utf8).write(to: URL(fileURLWithPath: directory.file("netrc")))
        let listener = try OneRequestListener()
        let user = example.user.map { $0 + "@" } ?? ""
        let curl = try ChildProcess(
            "curl",
            [
                "-q", "-s", "-o", "/dev/null", "--noproxy", "*", "--netrc-optional",
                "--netrc-file", directory.file("netrc"), "http://\(user)127.0.0.1:\(listener.port)/",
            ]
        )
        let authorization = listener.authorizationOfOneRequest()
        _ = try curl.finish()
        // A user in the address is sent with an empty password if netrc has none for it.
        let expected = example.found ?? example.user.map { $0 + ":" }
        #expect(authorization == expected.map { "Basic " + Data($0.utf8).base64EncodedString() })
    }

    @Test(arguments: [("machine a login \"x", 1), ("machine a\nlogin \"x\\", 2)])
    func anOpenQuoteIsAnError(text: String, line: Int) {
        #expect(throws: Netrc.SyntaxError(line: line)) { try Netrc(text) }
    }

    @Test func addressesOfIPv6HaveNoBracketsInNetrc() throws {
        #expect(try Netrc("machine ::1 login a password b").entry(host: "[::1]", user: nil)?.login == "a")
    }

    @Test func anEntryWithoutPasswordIsSkipped() throws {
        let netrc = try Netrc("machine h login a\nmachine h login c password d")
        #expect(netrc.entry(host: "h", user: nil)?.login == "c")
    }
}

/// Accepts one HTTP request on a free port of the loopback interface.
private struct OneRequestListener: ~Copyable {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | listen(descriptor, 1) | getsockname(descriptor, $0, &length)
            }
        }
        try #require(result == 0)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// The value of `Authorization`; nil if the request has none.
    func authorizationOfOneRequest() -> String? {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 30_000) == 1 else { return "no request was received" }
        let connection = accept(descriptor, nil, nil)
        defer { close(connection) }
        var request = ""
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !request.contains("\r\n\r\n") {
            let got = read(connection, &chunk, chunk.count)
            guard got > 0 else { break }
            request += String(decoding: chunk[..<got], as: UTF8.self)
        }
        let response = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
        _ = write(connection, response, response.utf8.count)
        let line = request.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }
        return line.map { String($0.dropFirst("Authorization: ".count)) }
    }
}
