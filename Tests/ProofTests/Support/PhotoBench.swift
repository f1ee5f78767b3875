import Foundation
import MediaStore
import TestSupport
import Testing

/// A photographer's machine: the built program, with a login as alice at a sandbox. Nothing is retried.
struct PhotoBench {
    let sandbox: SandboxProcess
    var runner: BinaryRunner

    /// A machine without a login.
    init(_ sandbox: SandboxProcess) throws {
        self.sandbox = sandbox
        runner = try BinaryRunner()
        runner.environment.merge(["MEDIACTL_SERVER": sandbox.baseURL, "MEDIACTL_RETRIES": "0"]) { $1 }
    }

    /// A machine that is registered as a device.
    static func loggedIn(to sandbox: SandboxProcess, as name: String = "Studio") async throws -> PhotoBench {
        let bench = try PhotoBench(sandbox)
        let login = try await bench.runner.run(
            ["login", "--api-key-stdin", "--device-name", name, "-q"],
            input: SandboxProcess.aliceKey + "\n"
        )
        try #require(login.exitCode == 0, "\(login.errors)")
        return bench
    }

    /// A registered machine with a separate sandbox.
    static func loggedIn(faults: [String] = [], arguments: [String] = []) async throws -> PhotoBench {
        try await loggedIn(to: try await SandboxProcess.start(faults: faults, arguments: arguments))
    }

    var dataPath: String { runner.home.file("data/mediactl") }
    var pictures: String { runner.home.file("Pictures") }
    var target: String { runner.home.file("out") }

    /// The server's ID for this machine.
    var deviceID: String? {
        get throws { try LibraryStore(in: DataDirectory.open(dataPath)).logins().first?.deviceID }
    }

    /// Runs a command to completion.
    func run(_ arguments: String..., extra: [String: String] = [:]) async throws -> ChildResult {
        try await runner.run(arguments, extra: extra)
    }

    /// Runs a command that must succeed.
    @discardableResult
    func succeed(_ arguments: String...) async throws -> ChildResult {
        let result = try await runner.run(arguments)
        try #require(result.exitCode == 0, "\(arguments): \(result.errors)")
        return result
    }

    /// Runs a command that is killed with SIGKILL when it passes a failpoint for the (`passes` + 1)th time.
    func die(_ command: [String], at place: String, after passes: Int) async throws {
        let result = try await runner.run(
            command,
            extra: ["MEDIACTL_KILL_AT": place, "MEDIACTL_KILL_AFTER": "\(passes)"]
        )
        #expect(result.signal == SIGKILL, "\(place) was not reached: \(result.errors)")
    }

    // MARK: The server

    /// Number of requests with this method and path prefix that the server received.
    func requests(_ method: String, _ path: String) async throws -> Int {
        try await sandbox.requests().count { $0.method == method && $0.path.hasPrefix(path) }
    }

    /// How often a page of the listing was requested from the server.
    var pagesRequested: Int { get async throws { try await requests("POST", "/api/sync/photos") } }
    var uploads: Int { get async throws { try await requests("POST", "/api/photos/upload") } }

    // MARK: Files

    /// Adds a photo to the pictures directory, with a modification time that does not occur by chance.
    @discardableResult
    func picture(_ name: String, _ content: [UInt8]) throws -> String {
        let path = pictures + "/" + name
        let directory = (path as NSString).deletingLastPathComponent
        try makeDirectory(directory)
        try Data(content).write(to: URL(fileURLWithPath: path))
        let time = timespec(tv_sec: 1_709_634_030, tv_nsec: 123_456_789)
        try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        return path
    }

    /// Adds photos with different contents.
    func addPictures(_ names: String...) throws {
        for name in names { try picture(name, Array("a photo called \(name)".utf8)) }
    }

    /// A photo that the sandbox rewrites.
    static let jpeg = SmallPhoto.jpeg

    // MARK: Leftovers

    /// The lines of `sync list --json`.
    func index() async throws -> [String] {
        let list = try await run("sync", "list", "--json")
        #expect(list.exitCode == 0, "\(list.errors)")
        return list.lines.filter { $0.contains(#""type":"item""#) }
    }

    /// Checks that `sync verify` finds no differences, and returns the number of copies that it has read.
    func verifiedCopies() async throws -> Int? {
        let verify = try await run("sync", "verify", "--read-content", "--json")
        #expect(verify.exitCode == 0, "\(verify.output)")
        return verify.records.last?["copies"] as? Int
    }

    /// Names in the data directory that a finished command must not leave: spools, temporary indexes. A write-ahead log
    /// may stay.
    func leftovers() throws -> [String] {
        try Tree(dataPath).files.keys.filter { name in
            !["", "-wal", "-shm"].contains { name == "index.sqlite\($0)" || name == "library.sqlite\($0)" }
                && !name.hasPrefix("locks/")
        }
    }
}

extension SandboxProcess {
    /// Makes the stored photos older: a download is resumed only if `Last-Modified` identifies the version, which
    /// requires that it is at least one second old (RFC 9110 section 8.8.2.2).
    func agePhotos() async throws {
        for photo in try await photos() {
            let time = timespec(tv_sec: 1_709_634_030, tv_nsec: 0)
            _ = utimensat(AT_FDCWD, data.file("photos/\(photo.storedPath)"), [time, time], 0)
        }
    }
}

/// The state of a directory: all entries below it, without following links.
struct Tree: Equatable {
    /// A file that is not a directory.
    struct File: Equatable {
        var content: Data
        /// Nanoseconds since 1970.
        var modified: Int64
        var mode: UInt32
    }

    /// By their paths below the directory.
    private(set) var files: [String: File] = [:]
    private(set) var directories: [String: UInt32] = [:]

    init(_ root: String) throws {
        for name in FileManager.default.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? [] {
            var status = stat()
            try #require(lstat(root + "/" + name, &status) == 0)
            if status.st_mode & S_IFMT == S_IFDIR {
                directories[name] = status.st_mode & 0o7777
                continue
            }
            files[name] = File(
                content: FileManager.default.contents(atPath: root + "/" + name) ?? Data(),
                modified: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec),
                mode: status.st_mode & 0o7777
            )
        }
    }

    var contents: [String: Data] { files.mapValues(\.content) }
}
