import Foundation
import TestSupport
import Testing

@testable import Tapes

/// The pictures directory, as xdg-user-dir(1) finds it.
@Suite struct UserDirectoriesTests {
    @Test(arguments: [
        (#"XDG_PICTURES_DIR="$HOME/Bilder""#, "/home/me/Bilder"),
        (#"XDG_PICTURES_DIR="/srv/pictures""#, "/srv/pictures"),
        (#"XDG_PICTURES_DIR="/srv/pictures//""#, "/srv/pictures"),
        (##"  XDG_PICTURES_DIR = "$HOME/a b/c" # comment"##, "/home/me/a b/c"),
        (#"XDG_PICTURES_DIR="$HOME/with \"quotes\" and \\""#, #"/home/me/with "quotes" and \"#),
        // `$HOME/` alone means "none".
        (#"XDG_PICTURES_DIR="$HOME/""#, nil),
        (#"XDG_PICTURES_DIR="$HOME""#, nil),
        // The last valid line counts.
        ("XDG_PICTURES_DIR=\"/a\"\nXDG_PICTURES_DIR=\"/b\"\nXDG_PICTURES_DIR=\"c\"", "/b"),
        ("# XDG_PICTURES_DIR=\"/a\"\nXDG_MUSIC_DIR=\"/b\"", "/home/me/Pictures"),
        // Neither absolute nor below the home directory; not quoted; not closed; another variable.
        (#"XDG_PICTURES_DIR="pictures""#, "/home/me/Pictures"),
        (#"XDG_PICTURES_DIR="$HOMEpictures""#, "/home/me/Pictures"),
        (#"XDG_PICTURES_DIR=/a"#, "/home/me/Pictures"),
        (#"XDG_PICTURES_DIR="/a"#, "/home/me/Pictures"),
        (#"XDG_PICTURES_DIRS="/a""#, "/home/me/Pictures"),
        ("", "/home/me/Pictures"),
    ])
    func lines(text: String, expected: String?) throws {
        let temporary = try TemporaryDirectory()
        try Data(text.utf8).write(to: URL(fileURLWithPath: temporary.file("user-dirs.dirs")))
        let found = UserDirectories.pictures(environment: ["HOME": "/home/me", "XDG_CONFIG_HOME": temporary.path])
        #expect(found == expected.map { Array($0.utf8) })
    }

    /// Trap 17: a path need not be text.
    @Test func bytesArePreserved() {
        let line = Array("XDG_PICTURES_DIR=\"$HOME/".utf8) + [0xff, 0xe9] + Array("\"\n".utf8)
        let expected = Array("/home/me/".utf8) + [0xff, 0xe9]
        #expect(UserDirectories.pictures(in: line, home: Array("/home/me".utf8)) == .path(expected))
    }

    @Test(arguments: [
        (["HOME": "/home/me"], "/home/me/Pictures"), (["HOME": "/home/me/"], "/home/me/Pictures"),
        // A relative directory counts as none.
        (["HOME": "/home/me", "XDG_CONFIG_HOME": "config"], "/home/me/Pictures"), (["HOME": "home"], nil), ([:], nil),
    ])
    func withoutAFile(environment: [String: String], expected: String?) {
        #expect(UserDirectories.pictures(environment: environment) == expected.map { Array($0.utf8) })
    }

    @Test func theConfigurationDirectoryIsBelowHomeByDefault() throws {
        let home = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: home.file(".config"), withIntermediateDirectories: false)
        _ = try home.write(".config/user-dirs.dirs", "XDG_PICTURES_DIR=\"$HOME/Fotos\"\n".utf8)
        #expect(UserDirectories.pictures(environment: ["HOME": home.path]) == Array(home.file("Fotos").utf8))
    }
}
