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
        /// False where curl 7.88 is wrong: it offers the password for a different login.
        var isRequestedByCurl = true
        var testDescription: String { text + (user.map { " as \($0)" } ?? "") }
    }

    /// Those with `isRequestedByCurl` are also passed to curl, for the host `127.0.0.1`.
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
        let server = try RecordingServer(.init(status: 204, body: "", type: nil, headers: ["Connection: close"]))
        let address = server.address.replacing("//", with: "//" + (example.user.map { $0 + "@" } ?? ""))
        _ = try ChildProcess.run(
            "curl",
            [
                "-q", "-s", "-o", "/dev/null", "--noproxy", "*", "--netrc-optional",
                "--netrc-file", directory.file("netrc"), address,
            ]
        )
        let authorization = server.requests.first?.value(of: "authorization")
        // A user name in the address is sent with an empty password if netrc has no password for it.
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
