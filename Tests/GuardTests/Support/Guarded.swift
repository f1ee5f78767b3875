import Foundation
import TestSupport
import Testing

/// The frozen files of 0.1.0, and how to run a program on them.
enum Guarded {
    static let fixtures = Repository.path("fixtures/guard-0.1.0")
    /// The server address with which the fixtures were created, and the home directory.
    static let address = "127.0.0.1:48080"
    static let home = "/home/ann"

    /// A runner of the built program, or of the one in `MEDIACTL_GUARD_BINARY`: the release used for a recording.
    static func runner() throws -> BinaryRunner {
        var runner = try BinaryRunner()
        runner.executable = ProcessInfo.processInfo.environment["MEDIACTL_GUARD_BINARY"] ?? runner.executable
        runner.environment.merge(["MEDIACTL_RETRIES": "0"]) { $1 }
        return runner
    }

    /// A machine as 0.1.0 left it: stores, vault and privacy settings, all for a server on another port.
    static func machine(port: Int, withStores: Bool = true) throws -> BinaryRunner {
        // The address is inside databases, where only text of the same length can replace it.
        try #require(String(port).count == 5)
        var runner = try runner()
        runner.environment.merge([
            "MEDIACTL_SERVER": "http://127.0.0.1:\(port)", "MEDIACTL_USER": "uploader", "MEDIACTL_PASSWORD": "uploader",
        ]) { $1 }
        let home = runner.home.path
        if withStores { try copy("data", to: home + "/data/mediactl", port: port) }
        try copy("config", to: home + "/config/mediactl", port: port)
        return runner
    }

    /// Copies a fixture to the runner's home directory; the address and the home directory in it are replaced by those
    /// of the test.
    static func place(_ name: String, in runner: BinaryRunner, port: Int) throws -> String {
        let target = runner.home.file(name)
        let text = try String(contentsOfFile: fixtures + "/" + name, encoding: .utf8)
            .replacing(address, with: "127.0.0.1:\(port)").replacing(home, with: runner.home.path)
        try text.write(toFile: target, atomically: true, encoding: .utf8)
        try #require(chmod(target, 0o600) == 0)
        return target
    }

    private static func copy(_ name: String, to target: String, port: Int) throws {
        let source = fixtures + "/" + name
        let port = String(port)
        for path in [""] + (try FileManager.default.subpathsOfDirectory(atPath: source)) {
            let destination = path.isEmpty ? target : target + "/" + path.replacing("_48080", with: "_" + port)
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: source + "/" + path, isDirectory: &isDirectory) else {
                continue
            }
            if isDirectory.boolValue {
                try makeDirectory(destination)
                try #require(chmod(destination, 0o700) == 0)
            } else {
                var data = try Data(contentsOf: URL(filePath: source + "/" + path))
                let old = Data(address.utf8)
                while port != "48080", let range = data.firstRange(of: old) {
                    data.replaceSubrange(range, with: Data("127.0.0.1:\(port)".utf8))
                }
                try data.write(to: URL(filePath: destination))
                try #require(chmod(destination, 0o600) == 0)
            }
        }
    }
}
