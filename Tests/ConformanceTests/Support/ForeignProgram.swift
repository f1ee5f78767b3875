import Foundation
import Glibc
import TestSupport
import Testing

/// A program that is not ours, or our own binary, run as a child process.
enum ForeignProgram {
    /// How a program ended.
    struct Ending {
        let status: Int32
        let output: String
        let errors: String
    }

    /// What kept a program from being of use to a test.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// The directory of the scripts beside these tests.
    static let scripts = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "scripts").path

    /// The interpreter that has the parsers (`scripts/setup.sh test` makes it).
    static let python = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: ".build/venv/bin/python").path

    /// Finds a program in `PATH`, and where Debian keeps servers.
    static func path(of name: String) throws -> String {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for directory in directories + ["/usr/sbin", "/sbin"] where access("\(directory)/\(name)", X_OK) == 0 {
            return "\(directory)/\(name)"
        }
        throw Failure("\(name) is not installed; run scripts/setup.sh test")
    }

    /// A product of this package, as built with the tests.
    static func product(_ name: String) -> String {
        Bundle.main.bundleURL.appending(path: name).path
    }

    /// Runs a program to its end. `environment` is added to that of the tests.
    static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Ending {
        let directory = try TemporaryDirectory()
        let process = process(path, arguments, environment: environment)
        process.standardOutput = try newFile(directory.file("output"))
        process.standardError = try newFile(directory.file("errors"))
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        return Ending(
            status: status,
            output: try String(contentsOfFile: directory.file("output"), encoding: .utf8),
            errors: try String(contentsOfFile: directory.file("errors"), encoding: .utf8)
        )
    }

    static func process(_ path: String, _ arguments: [String], environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        return process
    }

    static func newFile(_ path: String) throws -> FileHandle {
        try Data().write(to: URL(filePath: path))
        return try FileHandle(forWritingTo: URL(filePath: path))
    }
}

/// A server in a child process. Ends with its last reference.
final class ForeignServer {
    let port: Int
    private let process: Process
    private let directory: TemporaryDirectory

    /// Starts a server that is told its port, and waits until it accepts connections.
    init(_ path: String, environment: [String: String] = [:], arguments: (Int) throws -> [String]) async throws {
        let free = try Self.freePort()
        (process, directory) = try Self.start(path, try arguments(free), environment: environment)
        port = free
        try await Self.wait(for: process, in: directory) { Self.accepts(port: free) ? true : nil }
    }

    /// Starts a server that chooses its port and ends its first line with it.
    init(announcing path: String, _ arguments: [String], environment: [String: String] = [:]) async throws {
        let (started, directory) = try Self.start(path, arguments, environment: environment)
        (process, self.directory) = (started, directory)
        port = try await Self.wait(for: started, in: directory) {
            let output = try? String(contentsOfFile: directory.file("output"), encoding: .utf8)
            guard let output, let end = output.firstIndex(of: "\n") else { return nil }
            return output[..<end].split(whereSeparator: { ": ".contains($0) }).last.flatMap { Int($0) }
        }
    }

    deinit {
        Self.end(process)
    }

    /// SIGKILL, because a child inherits the signal mask of the thread it was started from, and those of the
    /// concurrency runtime block SIGTERM.
    private static func end(_ process: Process) {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
        }
    }

    var address: String { "http://127.0.0.1:\(port)" }

    private static func start(
        _ path: String,
        _ arguments: [String],
        environment: [String: String]
    ) throws -> (Process, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let process = ForeignProgram.process(path, arguments, environment: environment)
        process.standardOutput = try ForeignProgram.newFile(directory.file("output"))
        process.standardError = try ForeignProgram.newFile(directory.file("errors"))
        try process.run()
        return (process, directory)
    }

    @discardableResult
    private static func wait<Sign>(
        for process: Process,
        in directory: TemporaryDirectory,
        _ sign: () -> Sign?
    ) async throws -> Sign {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            if let sign = sign() { return sign }
            guard process.isRunning, ContinuousClock.now < deadline else {
                end(process)
                let errors = try? String(contentsOfFile: directory.file("errors"), encoding: .utf8)
                throw ForeignProgram.Failure("\(process.executableURL?.path ?? "") did not start: \(errors ?? "")")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// A port that nobody uses at the moment.
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
        var address = loopback(port: port)
        return withSocketAddress(&address) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
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
