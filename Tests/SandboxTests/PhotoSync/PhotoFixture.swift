import Foundation
import TestSupport
import Testing

/// A sandbox and the PhotoSync calls that the tests share, made as Alice by default.
struct PhotoFixture {
    static let alice = ["-H", "X-API-Key: " + SandboxProcess.aliceKey]
    static let bob = ["-H", "X-API-Key: " + SandboxProcess.bobKey]

    let sandbox: SandboxProcess
    private let media: TemporaryDirectory

    init(_ arguments: [String] = [], faults: [String] = [], data: TemporaryDirectory? = nil) async throws {
        sandbox = try await SandboxProcess.start(faults: faults, arguments: arguments, data: data)
        media = try TemporaryDirectory()
    }

    /// A file with this content; the sandbox checks photos by their names.
    func file(_ name: String, _ content: some Sequence<UInt8>) throws -> String {
        let folder = media.file(UUID().uuidString)
        try makeDirectory(folder)
        let path = folder + "/" + name
        try Data(content).write(to: URL(fileURLWithPath: path))
        return path
    }

    func get(_ path: String, as user: [String] = alice, _ options: String...) async throws -> CurlResponse {
        try await curl(user + options + [sandbox.baseURL + path])
    }

    func post(_ path: String, _ json: String, as user: [String] = alice) async throws -> CurlResponse {
        try await curl(user + ["-d", json, sandbox.baseURL + path])
    }

    func delete(_ path: String, as user: [String] = alice) async throws -> CurlResponse {
        try await curl(user + ["-X", "DELETE", sandbox.baseURL + path])
    }

    func list(_ json: String = "{}", as user: [String] = alice) async throws -> PhotoPageResponse {
        try JSONDecoder().decode(PhotoPageResponse.self, from: try await post("/api/sync/photos", json, as: user).body)
    }

    func status(device: String = "", as user: [String] = alice) async throws -> [String: Int] {
        let response = try await get("/api/sync/status", as: user, "-H", "X-Device-ID: " + device)
        return try response.object().compactMapValues { $0 as? Int }
    }

    /// Uploads with these form fields.
    func upload(_ path: String, _ fields: [String] = [], as user: [String] = alice) async throws -> CurlResponse {
        let form = ["file=@" + path] + fields
        return try await curl(user + form.flatMap { ["-F", $0] } + [sandbox.baseURL + "/api/photos/upload"])
    }

    /// Uploads new bytes; returns the ID.
    func uploadNew(_ name: String = "a.jpg", _ fields: [String] = [], as user: [String] = alice) async throws -> String
    {
        let response = try await upload(try file(name, UUID().uuidString.utf8), fields, as: user)
        return try #require(try response.string("id"), "\(response.status) \(response.text)")
    }

    /// Registers a device; returns the ID.
    func register(_ token: String, as user: [String] = alice) async throws -> String {
        let response = try await post(
            "/api/devices/register",
            #"{"deviceName":"laptop","platform":"android","fcmToken":"\#(token)"}"#,
            as: user
        )
        return try #require(try response.string("id"))
    }
}

/// A page of the listing, parsed by Foundation.
struct PhotoPageResponse: Decodable {
    struct Photo: Decodable {
        struct Device: Decodable {
            var id: String
            var isCurrentDevice: Bool
        }

        var id: String
        var fileHash: String
        var originalFilename: String
        var fileSize: Int
        var dateTaken: String
        var uploadedAt: String
        var originDevice: Device?
        var thumbnailUrl: String?
        var width: Int?
        var height: Int?
    }

    struct Pagination: Decodable {
        var cursor: String?
        var hasMore: Bool
    }

    struct Sync: Decodable {
        var totalCount: Int
        var returnedCount: Int
        var serverVersion: Int
    }

    var photos: [Photo]
    var pagination: Pagination
    var sync: Sync
}

/// The start of a JPEG file: start of image, optionally EXIF, a frame header, and a unique text.
func jpeg(width: UInt8, height: UInt8, exif: [UInt8] = [], _ rest: String = UUID().uuidString) -> [UInt8] {
    let app1 = exif.isEmpty ? [] : [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif
    return [0xFF, 0xD8] + app1 + [0xFF, 0xC0, 0, 11, 8, 0, height, 0, width, 1, 1, 0x11, 0] + Array(rest.utf8)
}

/// An EXIF segment with an orientation and a date (CIPA DC-008), big-endian.
func exif(orientation: UInt8, date: String) -> [UInt8] {
    func entry(_ tag: [UInt8], _ type: UInt8, _ count: UInt8, _ value: [UInt8]) -> [UInt8] {
        tag + [0, type, 0, 0, 0, count] + value
    }
    let first =
        [0, 2] + entry([0x01, 0x12], 3, 1, [0, orientation, 0, 0]) + entry([0x87, 0x69], 4, 1, [0, 0, 0, 38])
    let second = [0, 1] + entry([0x90, 0x03], 2, 20, [0, 0, 0, 56])
    let header = Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8]
    return header + first + [0, 0, 0, 0] + second + [0, 0, 0, 0] + Array(date.utf8) + [0]
}
