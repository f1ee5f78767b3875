import Foundation
import Glibc
import TestSupport
import Testing

/// A third-party program, or the built binary, run as a child process.
enum ForeignProgram {
    /// The reason why a program cannot be used by a test.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// The directory of the scripts next to these tests.
    static let scripts = Repository.path("Tests/ConformanceTests/scripts")
    static let python = Repository.python

    /// Finds a program in `PATH`, and in the directories in which Debian installs servers.
    static func path(of name: String) throws -> String {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for directory in directories + ["/usr/sbin", "/sbin"] where access("\(directory)/\(name)", X_OK) == 0 {
            return "\(directory)/\(name)"
        }
        throw Failure("\(name) is not installed; run scripts/setup.sh test")
    }

    /// Runs a program to completion. `environment` is added to the environment of the tests.
    static func run(
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> ChildResult {
        try await ChildProcess.run(path, arguments, environment: childEnvironment(environment))
    }

    /// The environment of the tests, with additions.
    static func childEnvironment(_ additions: [String: String]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key != BuiltProgram.variable }.merging(additions) { $1 }
    }
}

/// A server in a child process. Stopped when its last reference is released.
final class ForeignServer: Sendable {
    let port: Int
    private let process: ChildProcess

    /// Starts a server that gets its port as an argument, and waits until it accepts connections. If another program
    /// takes the port first, the server is started with another one.
    init(_ path: String, arguments: (Int) throws -> [String]) async throws {
        for _ in 1..<5 {
            if let started = try? await Self.start(path, arguments) {
                (process, port) = started
                return
            }
        }
        (process, port) = try await Self.start(path, arguments)
    }

    private static func start(
        _ path: String,
        _ arguments: (Int) throws -> [String]
    ) async throws -> (ChildProcess, port: Int) {
        let port = try freePort()
        let process = try ChildProcess(path, try arguments(port))
        let deadline = ContinuousClock.now + .seconds(120)
        // The program does not report that it is listening, so its port is polled.
        while !accepts(port: port) {
            guard process.isRunning, ContinuousClock.now < deadline else { throw failure(process) }
            try await Task.sleep(for: .milliseconds(20))
        }
        guard process.isRunning else { throw failure(process) }
        return (process, port)
    }

    /// Starts a server that chooses its port and prints it right after `mark`.
    init(
        announcing path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        mark: String = "127.0.0.1:"
    ) async throws {
        process = try ChildProcess(path, arguments, environment: ForeignProgram.childEnvironment(environment))
        // The mark, the port and its terminator arrive in one write.
        try await process.wait(for: mark)
        let printed = process.result.output + process.result.errors
        let number = printed.components(separatedBy: mark).dropFirst().first?.prefix { $0.isNumber }
        guard let port = number.flatMap({ Int($0) }) else { throw Self.failure(process) }
        self.port = port
    }

    var address: String { "http://127.0.0.1:\(port)" }

    private static func failure(_ process: ChildProcess) -> ForeignProgram.Failure {
        ForeignProgram.Failure("did not start: \(process.result.output)\(process.result.errors)")
    }

    /// A port that is not in use at the moment.
    static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withSocketAddress(&address) { bind(descriptor, $0, length) == 0 }
        let isNamed = withSocketAddress(&address) { getsockname(descriptor, $0, &length) == 0 }
        guard isBound, isNamed else { throw ForeignProgram.Failure("no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func accepts(port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var (peer, own) = (loopback(port: port), loopback(port: 0))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withSocketAddress(&peer) { connect(descriptor, $0, length) == 0 }
        // If no process listens, the kernel may choose the requested port as the local one, and connect the socket
        // to itself.
        return isConnected && withSocketAddress(&own) { getsockname(descriptor, $0, &length) == 0 }
            && own.sin_port != peer.sin_port
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func withSocketAddress<Result>(
        _ address: inout sockaddr_in,
        _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
