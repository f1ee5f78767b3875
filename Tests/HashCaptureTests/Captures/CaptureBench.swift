import CaptureSubmission
import Foundation
import MediaCrypto
import MediaStore
import MediaTransport
import TestSupport

@testable import HashCapture

/// One machine with its data, and a server.
struct CaptureBench: Sendable {
    /// nil for a scripted server.
    let sandbox: SandboxProcess?
    let machine: TemporaryDirectory
    let directory: DataDirectory
    let library: LibraryStore
    let session: CaptureSession

    /// The content of every photo of a bench, which no other test uploads.
    static let marker = Array("THESE-BYTES-MUST-NOT-LEAVE-THE-MACHINE/".utf8)

    /// A machine with its own sandbox.
    init(_ arguments: [String] = [], profile: CaptureProfile = .mediactl1) async throws {
        let sandbox = try await SandboxProcess.start(arguments: arguments + ["--capture-profile", profile.rawValue])
        try self.init(sandbox: sandbox, address: sandbox.baseURL, profile: profile)
    }

    /// A registered machine with its own sandbox.
    static func registered(
        _ arguments: [String] = [],
        profile: CaptureProfile = .mediactl1
    ) async throws -> CaptureBench {
        let bench = try await CaptureBench(arguments, profile: profile)
        try await bench.register()
        return bench
    }

    /// A machine with any server; pass `machine` to use the data of another machine.
    init(
        sandbox: SandboxProcess? = nil,
        address: String,
        profile: CaptureProfile = .mediactl1,
        machine: TemporaryDirectory? = nil
    ) throws {
        self.sandbox = sandbox
        let machine = try machine ?? TemporaryDirectory()
        self.machine = machine
        directory = try DataDirectory.open(machine.path + "/data")
        library = try LibraryStore(in: directory)
        session = try Self.session(address, profile, directory, library)
    }

    static func session(
        _ address: String,
        _ profile: CaptureProfile,
        _ directory: DataDirectory,
        _ library: LibraryStore
    ) throws -> CaptureSession {
        let retry = RetryPolicy(retries: 0)
        let http = try HTTPClient(configuration: HTTPClientConfiguration(retry: retry))
        return CaptureSession(
            client: CaptureClient(server: try ServerURL(address), http: http),
            profile: profile,
            dependencies: CaptureSession.Dependencies(
                directory: directory,
                library: library,
                vaultKey: .file,
                programVersion: "1.0",
                // Whole milliseconds, so that a stored record equals the original.
                now: { Date(timeIntervalSince1970: (Date().timeIntervalSince1970 * 1000).rounded(.down) / 1000) }
            )
        )
    }

    // MARK: Devices

    static let plan = DeviceEnrollment.Plan(key: .new, model: "Test", rpID: "mediactl-1")

    @discardableResult
    func register(_ plan: DeviceEnrollment.Plan = plan) async throws -> CaptureDeviceRecord {
        try await DeviceEnrollment(session).register(plan)
    }

    /// Registers this machine as another device.
    @discardableResult
    func registerAgain() async throws -> CaptureDeviceRecord {
        var plan = Self.plan
        plan.replacesEarlier = true
        return try await register(plan)
    }

    /// A machine with its own sandbox of the profile `reference`, where its key is enrolled.
    static func atReference(_ arguments: [String] = []) async throws -> CaptureBench {
        let machine = try TemporaryDirectory()
        let directory = try DataDirectory.open(machine.path + "/data")
        let (name, signer) = try DeviceKey(directory: directory).make(for: "https://reference.test")
        try Data(try signer.publicKey.pem()).write(to: URL(fileURLWithPath: machine.file("public.pem")))
        let id = UUID().uuidString.lowercased()
        let sandbox = try await SandboxProcess.start(
            arguments: arguments + [
                "--capture-profile", "reference",
                "--capture-device", "\(id):secure_enclave:\(machine.file("public.pem"))",
            ]
        )
        let bench = try CaptureBench(
            sandbox: sandbox,
            address: sandbox.baseURL,
            profile: .reference,
            machine: machine
        )
        let plan = DeviceEnrollment.Plan(
            key: .existing(.file(name)),
            model: "Test",
            rpID: "XXXXXXXXXX.com.realitycam.app"
        )
        _ = try await DeviceEnrollment(bench.session).keep(deviceID: id, plan)
        return bench
    }

    // MARK: Media

    /// A file with the first bytes of a JPEG.
    func photo(_ name: String = "photo.jpg", byteCount: Int = 20_000) throws -> [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + Array(name.utf8)
        while bytes.count < byteCount { bytes += Self.marker }
        return try write(name, bytes)
    }

    func write(_ name: String, _ bytes: [UInt8]) throws -> [UInt8] {
        try Data(bytes).write(to: URL(fileURLWithPath: machine.file(name)))
        return Array(machine.file(name).utf8)
    }

    /// A scene with several distances, 16 × 12.
    func depthMap() throws -> CaptureRequest.Depth { .map(path: try depthFile(), layout: Self.depthLayout) }

    static let depthLayout = DepthMapFile.Layout(width: 16, height: 12)

    func depthFile() throws -> [UInt8] {
        let samples: [Float] = (0..<192).map { number in Float(8 + (number * 7919) % 60) / 8 }
        var bytes: [UInt8] = []
        for sample in samples { withUnsafeBytes(of: sample.bitPattern.littleEndian) { bytes += Array($0) } }
        return try write("depth.bin", bytes)
    }

    /// A request for a photo that discloses only the device model, and its time to the second.
    func request(_ path: [UInt8], depth: CaptureRequest.Depth = .declined) -> CaptureRequest {
        CaptureRequest(
            .file(path),
            depth: depth,
            facts: CaptureFacts(capturedAt: Date(timeIntervalSince1970: 1_790_000_000), deviceModel: "Box"),
            settings: PrivacySettings()
        )
    }

    func request(_ name: String = "photo.jpg") throws -> CaptureRequest { request(try photo(name)) }

    // MARK: The server

    /// Requests to the capture routes, without registrations.
    func received() async throws -> [SandboxProcess.ReceivedBody] {
        try await sandbox?.captureBodies().filter { $0.path.hasPrefix("/api/v1/captures") } ?? []
    }

    func remotes() async throws -> [SandboxProcess.StoredCapture] { try await sandbox?.captures() ?? [] }

    /// The number of requests to the hash-only route so far.
    func submissions() async throws -> Int {
        try await sandbox?.requests().filter { $0.path == "/api/v1/captures/hash-only" }.count ?? 0
    }

    /// The last counter that was used.
    func lastCounter() async throws -> UInt32 {
        let counter = try await session.lock(try session.device().deviceID)
        defer { counter.release() }
        return counter.last
    }
}
