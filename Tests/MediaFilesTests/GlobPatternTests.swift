import Foundation
import TestSupport
import Testing

@testable import MediaFiles

@Suite struct GlobPatternTests {
    static let cases: [(pattern: String, fits: [String], doesNotFit: [String])] = [
        // Without a slash: the last component.
        ("*.mp4", ["a.mp4", ".mp4", "x/y/a.mp4", "a.b.mp4"], ["a.MP4", "a.mp4.part", "a.mp4/x", "mp4"]),
        ("a", ["a", "x/a"], ["aa", "a/x", ""]),
        ("?", ["a", "x/ä", "x/€"], ["", "ab", "a/bc"]),
        ("*", ["a", ".hidden", "x/y"], []),
        (".*", [".hidden", "x/.hidden"], ["a", ".x/a"]),
        ("a*b*c", ["abc", "aXbYc", "abcbc"], ["ab", "acb", "abcd"]),
        // With a slash: the whole path.
        ("/a", ["a"], ["x/a"]),
        ("x/*.mov", ["x/a.mov"], ["a.mov", "y/x/a.mov", "x/y/a.mov"]),
        ("x?y", ["xay"], ["x/y"]),
        ("/*", ["a"], ["x/a"]),
        // Across directories.
        ("**/a", ["a", "x/a", "x/y/a"], ["ba", "x/ba"]),
        ("/**/a", ["a", "x/y/a"], ["ba"]),
        ("x/**", ["x/a", "x/y/z"], ["x", "y/x/a", "xy/a"]),
        ("x/**/a", ["x/a", "x/y/a", "x/y/z/a"], ["xa", "x/ya", "a"]),
        ("x**y/", ["xy/a", "w/xay/b"], ["xy", "x/z/y/b"]),
        ("a/b**c", ["a/bc", "a/b/x/c"], ["a/x/bc"]),
        ("**", ["a", "x/y"], []),
        ("***/a", ["a", "x/y/a"], ["ba"]),
        // Everything below a directory.
        (".git/", [".git/config", "a/.git/hooks/x"], [".git", "a/.git", ".gitx/a"]),
        ("a/b/", ["a/b/c"], ["a/b", "x/a/b/c"]),
        ("/a/", ["a/b", "a/b/c"], ["x/a/b"]),
        // Brackets.
        ("[a-c]x", ["ax", "cx", "y/bx"], ["dx", "x", "Ax"]),
        ("[!a-c]x", ["dx", "Ax"], ["ax", "x"]),
        ("[^a]", ["b"], ["a", "x/a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[!]]", ["a"], ["]"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[-a]", ["a", "-"], ["b"]),
        ("[*?{]", ["*", "?", "{"], ["a"]),
        ("[\\]]", ["]"], ["\\"]),
        ("[ä-ü]", ["ö"], ["o"]),
        ("x[!a]y", ["xby"], ["x/y", "xay"]),
        // Braces.
        ("*.{mp4,mov}", ["a.mp4", "x/a.mov"], ["a.mkv", "a.", "a.{mp4,mov}"]),
        ("{a,b{c,d}}e", ["ae", "bce", "bde"], ["be", "abce", "e"]),
        ("a{,b}", ["a", "ab"], ["b", "abb"]),
        ("{a}", ["a"], ["{a}"]),
        ("{}x", ["x"], ["{}x"]),
        ("{x/a,b}", ["x/a", "b"], ["y/b"]),
        ("{**/,}a", ["a", "x/a"], ["ba"]),
        ("{x,y}/**/a", ["x/a", "y/z/a"], ["a", "xa"]),
        ("a,b", ["a,b"], ["a", "b"]),
        ("{a*,*b}", ["ax", "xb"], ["xay"]),
        // Escapes.
        ("\\*", ["*"], ["a", "\\*", "\\"]),
        ("a\\{b\\}", ["a{b}"], ["ab"]),
        ("\\a", ["a"], ["\\a"]),
        ("\\\\", ["\\"], ["\\\\"]),
        ("{a\\,b,c}", ["a,b", "c"], ["a", "b"]),
        ("a b", ["a b"], []),
        ("(a|b).+$", ["(a|b).+$"], ["a"]),
    ]

    @Test(arguments: cases) func patterns(row: (pattern: String, fits: [String], doesNotFit: [String])) throws {
        let pattern = try GlobPattern(row.pattern)
        for path in row.fits { #expect(pattern.matches(Array(path.utf8)), "\(row.pattern) \(path)") }
        for path in row.doesNotFit { #expect(!pattern.matches(Array(path.utf8)), "\(row.pattern) \(path)") }
    }

    static let faults: [(pattern: String, reason: String)] = [
        ("", "the pattern is empty"),
        ("/", "the pattern is empty"),
        ("//", "the pattern is empty"),
        ("[", "\"[\" without \"]\""),
        ("[]", "\"[\" without \"]\""),
        ("[!]", "\"[\" without \"]\""),
        ("a[b-", "\"[\" without \"]\""),
        ("[a\\", "\"[\" without \"]\""),
        ("[z-a]", "the range z-a ends before it begins"),
        ("[a/b]", "brackets must not contain a slash"),
        ("[[:alpha:]]", "character classes such as [:alpha:] are not supported"),
        ("{a", "\"{\" without \"}\""),
        ("{a,{b}", "\"{\" without \"}\""),
        ("a}", "\"}\" without \"{\""),
        ("a\\", "the pattern ends with a backslash"),
        (String(repeating: "{", count: 17) + String(repeating: "}", count: 17), "braces are nested too deeply"),
    ]

    @Test(arguments: faults) func syntaxErrorsAreReported(row: (pattern: String, reason: String)) {
        #expect(throws: GlobError(pattern: row.pattern, reason: row.reason)) { try GlobPattern(row.pattern) }
    }

    @Test func sixteenLevelsOfBracesAreAccepted() throws {
        let pattern = String(repeating: "{a,", count: 16) + "b" + String(repeating: "}", count: 16)
        #expect(try GlobPattern(pattern).matches(Array("b".utf8)))
    }

    /// A byte that is not a character is matched by `?` and `*`, but not by a letter.
    @Test func bytesThatAreNotUTF8() throws {
        let name: [UInt8] = [0x61, 0xFF, 0xC3, 0x62]
        #expect(try GlobPattern("a??b").matches(name))
        #expect(try GlobPattern("a*b").matches(name))
        #expect(try GlobPattern("a[!x][!x]b").matches(name))
        #expect(try !GlobPattern("a?b").matches(name))
        #expect(try !GlobPattern("aÿ?b").matches(name))
    }

    /// Backtracking would take exponential time.
    @Test(
        .timeLimit(.minutes(4)),
        arguments: [
            String(repeating: "*a", count: 30) + "b",
            String(repeating: "**a", count: 30) + "b",
            String(repeating: "**/", count: 30) + "b",
            String(repeating: "{a,a}", count: 60) + "b",
            String(repeating: "{*,*}", count: 60) + "b",
        ]
    )
    func noPatternIsSlow(pattern: String) throws {
        let name = [UInt8](repeating: UInt8(ascii: "a"), count: 2_000)
        #expect(try !GlobPattern(pattern).matches(name))
        #expect(try GlobPattern(String(repeating: "*a", count: 30)).matches(name))
    }

    /// Thousands of small patterns and names are compared with the C library, wherever the rules are the same.
    @Test func agreesWithTheCLibrary() throws {
        var random = Linear(state: 20_260_301)
        var matchCount = 0
        var pairCount = 0
        for _ in 0..<20_000 {
            let text = random.pattern()
            // A lone bracket is text for fnmatch(3) and an error here; so is a reversed range.
            guard !text.isEmpty, let pattern = try? GlobPattern(text) else { continue }
            let name = random.text(of: "abc.-]!", upTo: 6)
            guard !name.isEmpty else { continue }
            let expected = fnmatch(text, name, FNM_PATHNAME) == 0
            #expect(pattern.matches(Array(name.utf8)) == expected, "\(text) \(name)")
            pairCount += 1
            matchCount += expected ? 1 : 0
        }
        #expect(pairCount > 5_000)
        #expect(matchCount > 500)
    }

    /// Braces and `**` are compared with Bash: it expands the braces of a pattern, and `globstar` finds the files.
    @Test(arguments: [
        "**/*.mp4", "a/**/x.mp4", "a/**", "*/x.mp4", "{a,b}/x.{mp4,mov}", "{a,b/{c,d}}/*.mp4", "**/c/**", "/[ab]/x.*",
        "a/{,c/}x.mp4", "**/{c,d}/x.m??",
    ])
    func agreesWithBash(pattern: String) throws {
        let directory = try TemporaryDirectory()
        let folders = ["", "a/", "a/c/", "b/", "b/c/", "b/d/", "b/d/c/"]
        let files = folders.flatMap { folder in ["x.mp4", "x.mov", "y.mp4"].map { folder + $0 } }
        for folder in folders {
            try makeDirectory(directory.file(folder))
        }
        for file in files { try Data("x".utf8).write(to: URL(filePath: directory.file(file))) }
        let script = """
            cd "$1" && shopt -s globstar nullglob && for f in \(pattern.drop { $0 == "/" }); do
            [ -f "$f" ] && echo "$f"; done; true
            """
        let ending = try ChildProcess.run("bash", ["-c", script, "bash", directory.path])
        try #require(ending.status == 0, "\(ending.errors)")
        let glob = try GlobPattern(pattern)
        #expect(files.filter { glob.matches(Array($0.utf8)) }.sorted() == Set(ending.lines).sorted())
        #expect(!ending.lines.isEmpty)
    }
}

/// A generator with a fixed seed, so that a failure is reproducible (Knuth's MMIX constants).
struct Linear: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        // The low bits of such a generator hardly vary.
        return state ^ (state >> 33)
    }

    mutating func text(of alphabet: String, upTo count: Int) -> String {
        String((0..<Int.random(in: 0...count, using: &self)).compactMap { _ in alphabet.randomElement(using: &self) })
    }

    mutating func pattern() -> String {
        let pieces = ["a", "b", "c", ".", "*", "*", "?", "[a-b]", "[!a]", "[]a]", "[!]-]", "[a-]", "\\*", "\\b", "-"]
        return (0..<Int.random(in: 1...6, using: &self)).compactMap { _ in pieces.randomElement(using: &self) }.joined()
    }
}
