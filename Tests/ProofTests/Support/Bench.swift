import Foundation
import MediaStore
import TestSupport

/// One machine with its own settings and data, and the built program on it.
struct Bench {
    var runner: BinaryRunner
    let server: String

    /// Creates an empty home directory; the password belongs to the user `uploader`, and is passed in the environment.
    init(_ server: String, password: String = "uploader") throws {
        self.server = server
        runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = password
    }

    /// Arguments that specify server and user.
    var login: [String] { ["--server", server, "--user", "uploader"] }
    var dataPath: String { runner.home.file("data/mediactl") }

    /// Writes a file into the home directory.
    func file(_ content: String = KnownFile.abc.content, name: String = "clip.mp4") throws -> String {
        try runner.home.write(name, content.utf8)
    }

    /// An ISO base media file (ISO/IEC 14496-12 section 4.3) of this length with content unique to the seed.
    func movie(_ byteCount: Int, seed: Int = 0, name: String = "clip.mp4") throws -> String {
        var bytes: [UInt8] = [0, 0, 0, 0x18] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2".utf8)
        bytes += randomBytes(max(0, byteCount - bytes.count), seed: seed)
        return try runner.home.write(name, bytes)
    }

    /// The journal, read by the library.
    func journal() throws -> [UploadRecord] {
        try TokenStore(in: DataDirectory.open(dataPath)).uploads(states: [], host: nil)
    }

    /// The tokens, read by the library.
    func tokens() throws -> [TokenEntry] {
        try TokenStore(in: DataDirectory.open(dataPath)).tokens(host: nil)
    }

    /// Names of the files below the home directory that contain a text.
    func files(containing text: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: runner.home.path)?.compactMap { $0 as? String } ?? []
        return names.filter {
            FileManager.default.contents(atPath: runner.home.file($0))?.range(of: Data(text.utf8)) != nil
        }
    }

    /// Files in the data directory that a finished command must not leave: rescue files, spools, locks.
    func leftovers() -> [String] {
        let paths = FileManager.default.enumerator(atPath: dataPath)?.compactMap { $0 as? String } ?? []
        // The file that all upload locks share is kept.
        return paths.filter { !$0.hasPrefix("tokens.sqlite") && !["locks", "locks/uploads.lock"].contains($0) }
    }

    /// `uploads list` as records of type `item`.
    func listedIDs() async throws -> [Int] {
        let list = try await runner.run(["uploads", "list", "--all", "--json"])
        return list.items.compactMap { $0["file_id"] as? Int }
    }
}

extension ChildResult {
    /// The records of `--json`.
    var records: [[String: Any]] {
        lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    /// The records of type `item`.
    var items: [[String: Any]] { records.filter { $0["type"] as? String == "item" } }

    /// The `state` of each item.
    var states: [String] { items.compactMap { $0["state"] as? String } }
}
