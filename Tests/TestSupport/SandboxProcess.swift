public import Foundation
import FoundationNetworking

/// A running `mediactl-sandbox`: the built program, on a free port, with its data in a temporary directory.
///
/// The process is killed when the last reference is released; `stop()` ends it properly and returns its exit status.
public final class SandboxProcess: Sendable {
    /// A request that the sandbox has received.
    public struct SeenRequest: Decodable, Sendable, Equatable {
        /// Method in capitals.
        public var method: String
        /// Path with query.
        public var path: String
        /// The schemes of its credentials: `basic`, `bearer`, `upload-token`, `api-key`.
        public var credentials: [String]
        /// Nil if no response was sent.
        public var status: Int?
        /// Body bytes that the sandbox received.
        public var bodyBytesRead: Int
        /// Whether the sandbox has finished with the request, with or without a response.
        public var isOver: Bool

        enum CodingKeys: String, CodingKey {
            case method, path, credentials, status
            case bodyBytesRead = "body_bytes_read"
            case isOver = "is_over"
        }
    }

    /// A photo in the sandbox's database.
    public struct StoredPhoto: Decodable, Sendable, Equatable {
        /// The photo's ID.
        public var id: String
        /// The owner's email address; nil if it has no owner.
        public var user: String?
        /// The device of the photo; nil for a legacy photo.
        public var device: String?
        /// SHA-256 of the bytes as uploaded, in lowercase hex.
        public var fileHash: String
        /// Number of bytes as uploaded.
        public var fileSize: Int
        /// The name shown in listings.
        public var originalFilename: String
        /// Below `photos` in the data directory.
        public var storedPath: String
        /// RFC 3339.
        public var dateTaken: String
        /// RFC 3339.
        public var uploadedAt: String
    }

    /// A capture in the sandbox's database.
    public struct StoredCapture: Decodable, Sendable, Equatable {
        /// The capture's ID.
        public var id: String
        /// The ID of the device that sent it.
        public var device: String
        /// `hash_only` or `full`.
        public var mode: String
        /// SHA-256 of the media, in lowercase hex.
        public var mediaHash: String
        /// `high`, `medium`, `low` or `suspicious`.
        public var confidence: String
        /// The public location.
        public var location: String?
        /// RFC 3339.
        public var capturedAt: String
        /// The body of the request, unchanged.
        public var body: [UInt8] { Array(data) }
        private var data: Data

        enum CodingKeys: String, CodingKey {
            case id, device, mode, mediaHash, confidence, location, capturedAt
            case data = "body"
        }
    }

    /// A device in the sandbox's database.
    public struct StoredDevice: Decodable, Sendable, Equatable {
        /// The device's ID.
        public var id: String
        /// `linux`, `ios`.
        public var platform: String
        /// As registered.
        public var model: String
        /// `software`, `tpm2`, `secure_enclave`, `unverified` …
        public var level: String
        /// SEC 1, uncompressed, in base64; nil without an attestation.
        public var publicKey: String?
        /// The counter of the last assertion that was accepted.
        public var counter: Int
    }

    /// A body that a capture route received, regardless of the outcome.
    public struct ReceivedBody: Decodable, Sendable, Equatable {
        /// Without query.
        public var path: String
        /// Unchanged.
        public var body: [UInt8] { Array(data) }
        private var data: Data

        enum CodingKeys: String, CodingKey {
            case path
            case data = "body"
        }
    }

    /// The sandbox could not be used.
    public enum Failure: Error {
        /// The process exited before it was ready; contains its standard error.
        case notReady(String)
        /// The expected requests did not arrive; contains those that did.
        case neverSeen([SeenRequest])
        /// The control route responded with this status and text.
        case control(status: Int, String)
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    public let baseURL: String
    /// The port it listens on.
    public let port: Int
    /// The sandbox's process ID.
    public var processID: Int32 { process.processID }
    /// The directory of its data; pass it to another `start` to test a restart.
    public let data: TemporaryDirectory

    private let process: ChildProcess

    /// Path of a program of this package to test.
    public static func builtProgram(_ name: String) -> String {
        BuiltProgram.path(name)
    }

    /// Starts a sandbox and waits until it is listening.
    /// - Parameters:
    ///   - dialect: `d1`, `d2`, `d3` or `d4`.
    ///   - faults: Initial faults, in the form of `--fault`.
    ///   - arguments: More command line arguments.
    ///   - data: The data directory; a new one if nil.
    /// - Returns: The running sandbox.
    /// - Throws: ``Failure`` if it exits before it is ready.
    public static func start(
        dialect: String = "d3",
        faults: [String] = [],
        arguments: [String] = [],
        data: TemporaryDirectory? = nil
    ) async throws -> SandboxProcess {
        let data = try data ?? TemporaryDirectory()
        let process = try ChildProcess(
            builtProgram("mediactl-sandbox"),
            ["--listen", "127.0.0.1:0", "--data", data.path, "--dialect", dialect]
                + faults.flatMap { ["--fault", $0] } + arguments
        )
        let line = try await process.nextLine()
        guard let url = line?.split(separator: " ").last, let port = Int(url.split(separator: ":").last ?? "") else {
            process.signal(SIGTERM)
            throw Failure.notReady(try await process.finish().errors)
        }
        return SandboxProcess(baseURL: String(url), port: port, data: data, process: process)
    }

    private init(baseURL: String, port: Int, data: TemporaryDirectory, process: ChildProcess) {
        self.baseURL = baseURL
        self.port = port
        self.data = data
        self.process = process
    }

    // The process must exit before the directory is removed, so that nothing more is stored in it.
    deinit {
        process.killNow()
    }

    /// Sends a signal, SIGTERM by default, and waits until the sandbox has exited.
    /// - Throws: ``ChildError/neverEnded(soFar:)``.
    @discardableResult
    public func stop(signal: Int32? = nil) async throws -> ChildResult {
        process.signal(signal ?? SIGTERM)
        return try await process.finish()
    }

    /// Adds faults in the form of `--fault`.
    /// - Throws: ``Failure/control(status:_:)`` if one is invalid.
    public func addFaults(_ faults: String...) async throws {
        _ = try await control("POST", "faults", body: faults.joined(separator: "\n"))
    }

    /// Removes all faults.
    public func clearFaults() async throws {
        _ = try await control("DELETE", "faults")
    }

    /// Makes every login invalid (`--auth bearer`).
    public func revokeLogins() async throws {
        _ = try await control("DELETE", "logins")
    }

    /// The requests so far, oldest first, except for those to the control route.
    public func requests() async throws -> [SeenRequest] {
        try JSONDecoder().decode([SeenRequest].self, from: try await control("GET", "requests"))
    }

    /// Waits until the requests so far satisfy a condition, for at most two minutes.
    ///
    /// Polls fifty times a second: without a pause, on a machine with one core, it would starve the processes that it
    /// waits for.
    /// - Throws: ``Failure/neverSeen(_:)``.
    public func waitForRequests(_ areEnough: ([SeenRequest]) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        var seen = try await requests()
        while !areEnough(seen) {
            guard ContinuousClock.now < deadline else { throw Failure.neverSeen(seen) }
            try await Task.sleep(for: .milliseconds(20))
            seen = try await requests()
        }
    }

    /// The documented API key of alice@example.test, whose password is `alice`.
    public static let aliceKey = "a11ce" + String(repeating: "0", count: 59)
    /// The documented API key of bob@example.test, whose password is `bob`.
    public static let bobKey = "b0b" + String(repeating: "0", count: 61)

    /// Calls one of PhotoSync's control routes (`mediactl-sandbox --help` lists them).
    /// - Parameters:
    ///   - method: For example `POST`.
    ///   - path: Below `/__sandbox/photosync/`, such as `photos` or `photos/ID`.
    ///   - json: The body, if any.
    /// - Returns: The JSON response.
    /// - Throws: ``Failure/control(status:_:)`` if it is rejected.
    @discardableResult
    public func photoSync(_ method: String, _ path: String, _ json: String? = nil) async throws -> String {
        String(decoding: try await control(method, "photosync/" + path, body: json), as: UTF8.self)
    }

    /// All stored photos, of all users and without an owner, in upload order.
    /// - Throws: ``Failure/control(status:_:)``.
    public func photos() async throws -> [StoredPhoto] {
        try JSONDecoder().decode([StoredPhoto].self, from: try await control("GET", "photosync/photos"))
    }

    /// Adds photos.
    /// - Parameter json: Their properties, in the form of `POST photosync/photos`; missing members get a default.
    /// - Returns: The IDs of the first thousand.
    /// - Throws: ``Failure/control(status:_:)`` if a user or a device does not exist.
    @discardableResult
    public func addPhotos(_ json: String = "{}") async throws -> [String] {
        struct Response: Decodable { var ids: [String] }
        return try JSONDecoder().decode(Response.self, from: try await control("POST", "photosync/photos", body: json))
            .ids
    }

    /// All captures that are stored, oldest first.
    /// - Throws: ``Failure/control(status:_:)``.
    public func captures() async throws -> [StoredCapture] {
        try JSONDecoder().decode([StoredCapture].self, from: try await control("GET", "captures/records"))
    }

    /// All devices that may send captures.
    /// - Throws: ``Failure/control(status:_:)``.
    public func captureDevices() async throws -> [StoredDevice] {
        try JSONDecoder().decode([StoredDevice].self, from: try await control("GET", "captures/devices"))
    }

    /// The bodies that capture routes received, including rejected ones, oldest first.
    /// - Throws: ``Failure/control(status:_:)``.
    public func captureBodies() async throws -> [ReceivedBody] {
        try JSONDecoder().decode([ReceivedBody].self, from: try await control("GET", "captures/bodies"))
    }

    /// The response from a control route about captures.
    /// - Parameter name: `records`, `devices` or `bodies`.
    /// - Returns: The response: a JSON array.
    /// - Throws: ``Failure/control(status:_:)``.
    public func captures(_ name: String) async throws -> Data {
        try await control("GET", "captures/" + name)
    }

    private func control(_ method: String, _ name: String, body: String? = nil) async throws -> Data {
        guard let url = URL(string: "\(baseURL)/__sandbox/\(name)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        // A separate session: no connection outlives the call, so stopping the sandbox never waits for one.
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw Failure.control(status: status, String(decoding: data, as: UTF8.self)) }
        return data
    }
}
