import Dispatch
import Foundation
import FoundationNetworking

/// A running `mediactl-sandbox`: the built program, on a free port, with its data in a temporary directory.
///
/// The process is killed with the last reference; `stop()` ends it properly and tells how it went.
public final class SandboxProcess: Sendable {
    /// A request the sandbox has seen.
    public struct SeenRequest: Decodable, Sendable, Equatable {
        /// Method in capitals.
        public var method: String
        /// Path with query.
        public var path: String
        /// Nil when no answer was sent.
        public var status: Int?
        /// Body bytes that the sandbox took.
        public var bodyBytesRead: Int

        enum CodingKeys: String, CodingKey {
            case method, path, status
            case bodyBytesRead = "body_bytes_read"
        }
    }

    /// How a sandbox ended.
    public struct Outcome: Sendable {
        /// Exit code, or the signal's number when a signal killed it.
        public var exitCode: Int32
        /// Whether it ended by itself.
        public var exitedNormally: Bool
        /// Everything on standard output.
        public var standardOutput: String
        /// Everything on standard error.
        public var standardError: String
    }

    /// The sandbox could not be used.
    public enum Failure: Error {
        /// It ended before it was ready; its standard error.
        case notReady(String)
        /// The control route answered with this status and text.
        case control(status: Int, String)
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    public let baseURL: String
    /// The port it listens on.
    public let port: Int
    /// Its process id.
    public var processID: Int32 { process.processIdentifier }
    /// The directory it stores in; pass it to another `start` to test a restart.
    public let data: TemporaryDirectory

    private let process: Process
    private let output: ProcessOutput
    private let exit: Task<Void, Never>

    /// Path of a built program of this package.
    public static func builtProgram(_ name: String) -> String {
        Bundle.main.bundleURL.appendingPathComponent(name).path
    }

    /// Starts a sandbox and waits until it listens.
    /// - Parameters:
    ///   - dialect: `d1`, `d2` or `d3`.
    ///   - faults: Faults in force from the start, as `--fault` takes them.
    ///   - arguments: More command line arguments.
    ///   - data: Where to store; a new directory when nil.
    /// - Returns: The running sandbox.
    /// - Throws: ``Failure`` when it ends before it is ready.
    public static func start(
        dialect: String = "d3",
        faults: [String] = [],
        arguments: [String] = [],
        data: TemporaryDirectory? = nil
    ) async throws -> SandboxProcess {
        let data = try data ?? TemporaryDirectory()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: builtProgram("mediactl-sandbox"))
        process.arguments =
            ["--listen", "127.0.0.1:0", "--data", data.path, "--dialect", dialect]
            + faults.flatMap { ["--fault", $0] } + arguments
        process.standardInput = FileHandle.nullDevice
        let output = try ProcessOutput()
        output.attach(to: process)
        let (exits, continuation) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
        let exit = Task { for await _ in exits {} }
        let line = try await output.firstLine(of: process)
        guard let url = line?.split(separator: " ").last, let port = Int(url.split(separator: ":").last ?? "") else {
            if process.isRunning { process.terminate() }
            await exit.value
            throw Failure.notReady(output.standardError)
        }
        return SandboxProcess(
            baseURL: String(url),
            port: port,
            data: data,
            process: process,
            output: output,
            exit: exit
        )
    }

    private init(
        baseURL: String,
        port: Int,
        data: TemporaryDirectory,
        process: Process,
        output: ProcessOutput,
        exit: Task<Void, Never>
    ) {
        self.baseURL = baseURL
        self.port = port
        self.data = data
        self.process = process
        self.output = output
        self.exit = exit
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Sends a signal, SIGTERM unless told otherwise, and waits for the end.
    @discardableResult
    public func stop(signal: Int32? = nil) async -> Outcome {
        if process.isRunning { kill(process.processIdentifier, signal ?? SIGTERM) }
        await exit.value
        return Outcome(
            exitCode: process.terminationStatus,
            exitedNormally: process.terminationReason == .exit,
            standardOutput: output.standardOutput,
            standardError: output.standardError
        )
    }

    /// Adds faults, as `--fault` takes them.
    /// - Throws: ``Failure/control(status:_:)`` when one is not understood.
    public func addFaults(_ faults: String...) async throws {
        _ = try await control("POST", "faults", body: faults.joined(separator: "\n"))
    }

    /// Removes all faults.
    public func clearFaults() async throws {
        _ = try await control("DELETE", "faults")
    }

    /// The requests seen so far, oldest first; those of the control route are not among them.
    public func requests() async throws -> [SeenRequest] {
        try JSONDecoder().decode([SeenRequest].self, from: try await control("GET", "requests"))
    }

    private func control(_ method: String, _ name: String, body: String? = nil) async throws -> Data {
        guard let url = URL(string: "\(baseURL)/__sandbox/\(name)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        // A session of its own: no connection outlives the call, so stopping the sandbox never waits for one.
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw Failure.control(status: status, String(decoding: data, as: UTF8.self)) }
        return data
    }
}

/// The output of a process in files.
///
/// Not in pipes: a process that is started at the same moment may inherit a pipe's end and keep it open.
private struct ProcessOutput: Sendable {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["stdout", "stderr"] {
            try Data().write(to: URL(fileURLWithPath: directory.file(name)))
        }
    }

    func attach(to process: Process) {
        process.standardOutput = FileHandle(forWritingAtPath: directory.file("stdout"))
        process.standardError = FileHandle(forWritingAtPath: directory.file("stderr"))
    }

    var standardOutput: String { text("stdout") }
    var standardError: String { text("stderr") }

    /// Waits until a line was printed; nil when the process ends first or takes longer than a minute.
    func firstLine(of process: Process) async throws -> String? {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let isRunning = process.isRunning
            if let end = standardOutput.firstIndex(of: "\n") { return String(standardOutput[..<end]) }
            if !isRunning { return nil }
            try await Task.sleep(for: .milliseconds(10))
        }
        return nil
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: directory.file(name), encoding: .utf8)) ?? ""
    }
}
