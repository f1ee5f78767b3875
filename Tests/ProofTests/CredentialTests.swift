import Foundation
import TestSupport
import Testing

/// Credentials and tokens are sent only to the specified server, and unencrypted only to this machine.
@Suite struct CredentialTests {
    @Test(arguments: [301, 302, 303, 307, 308]) func redirectIsNeverFollowed(status: Int) async throws {
        let elsewhere = try ScriptedServer { connection, _ in try connection.readHead() }
        let isRedirecting = Gate()
        let target = elsewhere.address
        let server = try ScriptedServer { connection, number in
            while true {
                let request = try connection.readRequest()
                // The first upload stores the token that the deletion sends.
                if number == 1 && request.head.hasPrefix("POST /api/uploads") {
                    try connection.respond(201, KnownFile.abc.response)
                } else {
                    isRedirecting.open()
                    let path = request.head.split(separator: " ").dropFirst().first ?? "/"
                    try connection.respond(status, "", headers: ["Location: \(target)\(path)"])
                }
            }
        }
        let bench = try Bench(server.address)
        let first = try await bench.runner.run(["upload", try bench.file(name: "one.mp4")] + bench.login)
        #expect(first.exitCode == 0)
        let again = try bench.file(KnownFile.twoBlocks.content, name: "two.mp4")
        let upload = try await bench.runner.run(["upload", again, "--retries", "0"] + bench.login)
        #expect(upload.exitCode != 0 && upload.exitCode != nil)
        let delete = try await bench.runner.run(["uploads", "delete", "18", "--yes", "--retries", "0"] + bench.login)
        #expect(delete.exitCode != 0 && delete.exitCode != nil)
        let question = try await bench.runner.run(
            ["uploads", "delete", "18", "--yes", "--as-admin", "--retries", "0"] + bench.login
        )
        #expect(question.exitCode != 0 && question.exitCode != nil)
        #expect(await isRedirecting.opened())
        #expect(elsewhere.connectionCount == 0)
        #expect(try bench.tokens().count == 1)
    }

    @Test(.enabled(if: ownAddress != nil)) func plainHTTPToOtherMachinesNeedsPermission() async throws {
        let address = try #require(Self.ownAddress)
        let server = try ScriptedServer(everyInterface: true) { connection, _ in
            while true {
                _ = try connection.readRequest()
                try connection.respond(201, KnownFile.abc.response)
            }
        }
        let bench = try Bench("http://\(address):\(server.port)")
        let file = try bench.file()
        for command in [["upload", file], ["uploads", "delete", "18", "--yes"], ["uploads", "status"]] {
            let result = try await bench.runner.run(command + bench.login)
            #expect(server.connectionCount == 0)
            // There is nothing to delete or to query yet.
            if command[0] == "upload" {
                #expect(result.exitCode == 2, "\(command): \(result.errors)")
                #expect(result.errors.contains("--allow-http"))
            }
        }
        #expect(bench.leftovers().isEmpty)
        let allowed = try await bench.runner.run(["upload", file, "--allow-http"] + bench.login)
        #expect(allowed.exitCode == 0)
        #expect(server.connectionCount > 0)
        let before = server.connectionCount
        let delete = try await bench.runner.run(["uploads", "delete", "18", "--yes"] + bench.login)
        #expect(delete.exitCode == 2 && server.connectionCount == before, "a token is also a secret")
    }

    /// An IPv4 address of this machine that is not loopback.
    private static let ownAddress: String? = {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        // The list is null-terminated and valid until it is freed above.
        for entry in sequence(first: list, next: { $0?.pointee.ifa_next }) {
            guard let entry, let address = entry.pointee.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET),
                entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) == 0,
                entry.pointee.ifa_flags & UInt32(IFF_UP) != 0
            else { continue }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            if getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
                return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
        }
        return nil
    }()
}
