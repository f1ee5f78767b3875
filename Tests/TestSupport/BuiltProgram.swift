internal import Foundation

/// The programs of this package that tests start.
public enum BuiltProgram {
    /// The environment variable with the path of a different `mediactl` to test, for example the release binary.
    public static let variable = "MEDIACTL_BINARY"

    /// Path of a program as built with the tests.
    public static func besideTests(_ name: String) -> String {
        Bundle.main.bundleURL.appendingPathComponent(name).path
    }

    /// Path of the program to test: for `mediactl` the one in `MEDIACTL_BINARY` if it is set.
    public static func path(_ name: String) -> String {
        let other = ProcessInfo.processInfo.environment[variable] ?? ""
        return name == "mediactl" && !other.isEmpty ? other : besideTests(name)
    }

    /// Directories to put first in `PATH`, separated by colons.
    public static var directories: String {
        ["mediactl", "mediactl-sandbox"].map { URL(filePath: path($0)).deletingLastPathComponent().path }
            .joined(separator: ":")
    }

    /// Path of the program to start for a command.
    ///
    /// A release has no failpoints: a command to be killed at one starts the program built with the tests.
    static func path(_ executable: String, environment: [String: String]) -> String {
        let isToBeKilled = !(environment["MEDIACTL_KILL_AT"] ?? "").isEmpty
        return isToBeKilled && executable == path("mediactl") ? besideTests("mediactl") : executable
    }
}
