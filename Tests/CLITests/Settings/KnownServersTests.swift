import Foundation
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import MediaCLI

/// The file `known_servers`: one origin and its pin per line.
@Suite struct KnownServersTests {
    static let pin = "sha256//" + String(repeating: "A", count: 43) + "="
    static let other = "sha256//" + String(repeating: "B", count: 42) + "A="

    let home: TemporaryDirectory
    var path: String { home.file("config/known_servers") }

    init() throws { home = try TemporaryDirectory() }

    @Test func linesAreOriginsAndPins() throws {
        let text = "# trusted\n\nhttps://Media.Example \(Self.pin)\r\n  https://media.example:8443\t\(Self.other)"
        let known = try KnownServers(text: text, path: "f")
        #expect(known.pins[try ServerURL("https://media.example").origin] == Self.pin)
        #expect(known.pins[try ServerURL("https://media.example:8443").origin] == Self.other)
        #expect(known.pins.count == 2)
    }

    @Test(arguments: [
        "https://media.example", "https://media.example \(pin) more", "http://media.example \(pin)",
        "media.example \(pin)", "https://media.example sha256//AAAA", "https://media.example/path \(pin)",
        "https://media.example \(pin);\(other)", "https://x \(pin)\nhttps://X \(pin)",
    ])
    func aMalformedLineIsAnErrorThatShowsIt(line: String) {
        let error = #expect(throws: SettingsError.self) { try KnownServers(text: "# one\n\(line)\n", path: "/k") }
        #expect(error?.line == (line.contains("\n") ? 3 : 2))
        #expect(error?.message.hasPrefix("/k:") == true)
    }

    @Test func addedPinsAreReadBack() throws {
        #expect(try KnownServers.read(path).pins.isEmpty)
        let (one, two) = (try ServerURL("https://one.example").origin, try ServerURL("https://two.example").origin)
        _ = try KnownServers.add(one, Self.pin, to: path)
        let known = try KnownServers.add(two, Self.other, to: path)
        #expect(known.pins == [one: Self.pin, two: Self.other])
        #expect(try KnownServers.read(path) == known)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == "https://one.example \(Self.pin)\nhttps://two.example \(Self.other)\n")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.file("config")) == ["known_servers"])
    }

    @Test func parallelAdditionsWaitForEachOther() throws {
        let origins = try (0..<8).map { try ServerURL("https://\($0).example").origin }
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: origins.count) { [path] index in
            do {
                _ = try KnownServers.add(origins[index], Self.pin, to: path)
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try Set(KnownServers.read(path).pins.keys) == Set(origins))
    }

    /// Lines written by others are not changed.
    @Test func addingKeepsTheExistingLines() throws {
        try makeDirectory(home.file("config"))
        let text = "# mine\nhttps://one.example \(Self.pin)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        _ = try KnownServers.add(ServerURL("https://two.example").origin, Self.other, to: path)
        #expect(
            try String(contentsOfFile: path, encoding: .utf8) == text + "\nhttps://two.example \(Self.other)\n"
        )
    }
}
