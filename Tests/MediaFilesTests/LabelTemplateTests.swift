import Foundation
import TestSupport
import Testing

@testable import MediaFiles

@Suite struct LabelTemplateTests {
    static let labels: [(template: String, path: String, label: String)] = [
        ("Encore", "gigs/a.mp4", "Encore"),
        ("", "a.mp4", ""),
        // Gighive contract 8: the phone app's "automatic label".
        ("Auto {date}", "a.mp4", "Auto 2026-03-01"),
        ("{stem}", "gigs/01 Intro.final.mp4", "01 Intro.final"),
        ("{name}|{ext}", "gigs/a.b.MP4", "a.b.MP4|MP4"),
        ("{stem}|{ext}", "gigs/.hidden", ".hidden|"),
        ("{stem}|{ext}", "gigs/.hidden.mp4", ".hidden|mp4"),
        ("{stem}|{ext}", "gigs/name.", "name.|"),
        ("{stem}|{ext}", "gigs.d/name", "name|"),
        ("{parent}: {stem}", "/srv/2026/gigs/a.mp4", "gigs: a"),
        ("{parent}", "gigs//a.mp4", "gigs"),
        ("{parent}", "./gigs/a.mp4", "gigs"),
        ("{parent}", "/a.mp4", ""),
        ("{parent}", "absent/../a.mp4", ""),
        ("{n} {n:1} {n:3} {n:9}", "a", "42 42 042 000000042"),
        ("{{{n}}} {{n}} }}{{", "a", "{42} {n} }{"),
        ("{stem} ä€😀", "ä.mp4", "ä ä€😀"),
        // A placeholder in a file's name is not expanded.
        ("{stem}", "{date}.mp4", "{date}"),
    ]

    @Test(arguments: labels) func placeholdersAreExpanded(row: (template: String, path: String, label: String)) throws {
        let template = try LabelTemplate(row.template)
        #expect(template.label(path: Array(row.path.utf8), eventDate: "2026-03-01", number: 42) == row.label)
    }

    @Test func longNumbersAreNotTruncated() throws {
        #expect(try LabelTemplate("{n:3}").label(path: [], eventDate: "", number: 5_000) == "5000")
    }

    @Test func bytesThatAreNotUTF8AreReplaced() throws {
        let path: [UInt8] = [0xFE, 0x2F, 0x61, 0xFF, 0x2E, 0x62]
        let label = try LabelTemplate("{parent}|{stem}|{ext}").label(path: path, eventDate: "", number: 1)
        #expect(label == "\u{FFFD}|a\u{FFFD}|b")
    }

    @Test func theParentOfAPathWithoutOneIsLookedUp() throws {
        let directory = try TemporaryDirectory()
        try makeDirectory(directory.file("gig/raw"))
        let template = try LabelTemplate("{parent}")
        let workingDirectory = URL(filePath: FileManager.default.currentDirectoryPath).lastPathComponent
        for (path, parent) in [
            (directory.file("gig/raw/../a.mp4"), "gig"), (directory.file("gig/./a.mp4"), "gig"),
            ("a.mp4", workingDirectory), ("./a.mp4", workingDirectory), ("/../a.mp4", ""),
        ] {
            #expect(template.label(path: Array(path.utf8), eventDate: "", number: 1) == parent, "\(path)")
        }
    }

    static let known = "valid placeholders: {stem}, {name}, {ext}, {parent}, {date}, {n} and {n:1} to {n:9}"

    static let faults: [(template: String, reason: String)] = [
        ("{", "\"{\" without \"}\"; escape a brace as \"{{\""),
        ("a {stem", "\"{\" without \"}\"; escape a brace as \"{{\""),
        ("}", "\"}\" without \"{\"; escape a brace as \"}}\""),
        ("{stem}} x", "\"}\" without \"{\"; escape a brace as \"}}\""),
        ("{title}", "\"{title}\" is unknown; \(known)"),
        ("{}", "\"{}\" is unknown; \(known)"),
        ("{Stem}", "\"{Stem}\" is unknown; \(known)"),
        ("{ n }", "\"{ n }\" is unknown; \(known)"),
        ("{n:0}", "\"{n:0}\" is unknown; \(known)"),
        ("{n:10}", "\"{n:10}\" is unknown; \(known)"),
        ("{n:}", "\"{n:}\" is unknown; \(known)"),
        ("{n:-1}", "\"{n:-1}\" is unknown; \(known)"),
        ("{stem:3}", "\"{stem:3}\" is unknown; \(known)"),
    ]

    @Test(arguments: faults) func templateErrorsAreReported(row: (template: String, reason: String)) {
        #expect(throws: LabelTemplateError(template: row.template, reason: row.reason)) {
            try LabelTemplate(row.template)
        }
    }
}
