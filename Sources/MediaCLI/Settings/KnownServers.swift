internal import Foundation
internal import MediaFiles
internal import MediaTransport

/// Servers that the user trusted at the first contact: the file `known_servers` next to the settings file.
///
/// One line for each server, an origin and the pin of its key: `https://media.example.org sha256//BASE64`. Empty lines and
/// lines that begin with `#` are ignored.
struct KnownServers: Sendable, Equatable {
    static let fileName = "known_servers"

    private(set) var pins: [Origin: String] = [:]

    init() {}

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - text: The lines.
    ///   - path: The path for errors.
    /// - Throws: `SettingsError` for the first line that is not an origin and its pin, or that repeats an origin.
    init(text: String, path: String) throws(SettingsError) {
        // `\r\n` is one Character, so that lines are split as scalars.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = String(line).split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            func refusal(_ rule: String) -> SettingsError { SettingsError(file: path, line: index + 1, rule: rule) }
            guard words.count == 2, first.hasPrefix("https://"), let origin = try? ServerURL(String(first)).origin,
                !words[1].contains(";"), let pin = try? SettingValue.pin(String(words[1]))
            else { throw refusal("must be an origin and its pin: https://HOST[:PORT] sha256//BASE64") }
            guard pins[origin] == nil else { throw refusal("repeats the origin \(origin)") }
            pins[origin] = pin
        }
    }

    /// Reads the file; a missing file is empty.
    ///
    /// - Throws: `SettingsError`.
    static func read(_ path: String) throws(SettingsError) -> KnownServers {
        try KnownServers(text: try content(path), path: path)
    }

    /// Stores the pin of a new origin. The file is readable only by its owner, and replaced atomically.
    ///
    /// - Returns: All known servers, including those that another process has added in the meantime.
    /// - Throws: `SettingsError` when the file cannot be read or written.
    static func add(_ origin: Origin, _ pin: String, to path: String) throws(SettingsError) -> KnownServers {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        do {
            guard let directory = try TargetDirectory.open(Array(parent.utf8), creating: true) else {
                throw SettingsError(file: path, rule: "cannot be written: no such directory")
            }
            let file = try PartialFile.open(".\(name).new", in: directory)
            do {
                // The file under its temporary name is locked, so that no line of another process is lost.
                let text = try content(path)
                var known = try KnownServers(text: text, path: path)
                if known.pins[origin] == nil {
                    let start = text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
                    try file.write(all: Array("\(start)\(origin) \(pin)\n".utf8))
                    try file.makePrivate()
                    try file.publish(replacing: Array(name.utf8))
                    known.pins[origin] = pin
                } else {
                    try file.discard()
                }
                return known
            } catch {
                try? file.discard()
                throw error
            }
        } catch let error as SettingsError {
            throw error
        } catch {
            let reason = (error as? FileWriteError)?.detail ?? "\(error)"
            throw SettingsError(file: path, rule: "cannot be written: \(reason)")
        }
    }

    private static func content(_ path: String) throws(SettingsError) -> String {
        do {
            return try SmallFile.trustedText(atPath: path)
        } catch {
            guard error == .missing else { throw SettingsError(refusing: path, error) }
            return ""
        }
    }
}
