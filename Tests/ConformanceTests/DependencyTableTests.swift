import Foundation
import TestSupport
import Testing

/// `docs/dependencies.md` lists everything that the build downloads or installs, with the license of each package.
@Suite("Dependency table")
struct DependencyTableTests {
    private struct Resolved: Decodable {
        struct Pin: Decodable { var identity: String }
        var pins: [Pin]
    }

    /// A row: the names in its cells, and its license.
    private struct Row {
        var names: [String]
        var license: String
    }

    /// The rows of all tables, by the names in backquotes before the license's column.
    private static func rows() throws -> [Row] {
        var licenseColumn: Int?
        var rows: [Row] = []
        let table = try Repository.text("docs/dependencies.md")
        for line in table.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                licenseColumn = nil
                continue
            }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let column = licenseColumn else {
                licenseColumn = cells.firstIndex(of: "license")
                continue
            }
            guard cells.count > column, cells[column].first != "-" else { continue }
            let names = cells[..<column].flatMap { cell in
                cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            }
            rows.append(Row(names: names, license: cells[column]))
        }
        return rows
    }

    /// The license according to the license file of a Swift package.
    private static func license(of text: String) -> String? {
        if text.contains("Apache License") {
            return text.contains("Runtime Library Exception") ? "Apache-2.0 WITH Swift-exception" : "Apache-2.0"
        }
        return text.contains("Permission is hereby granted, free of charge") ? "MIT" : nil
    }

    @Test("every package of Package.resolved has one row")
    func everyPackageHasOneRow() throws {
        let resolved = try JSONDecoder().decode(Resolved.self, from: Data(try Repository.text("Package.resolved").utf8))
        let names = try Self.rows().flatMap(\.names)
        #expect(resolved.pins.count >= 20)
        for pin in resolved.pins {
            #expect(names.count { $0 == pin.identity } == 1, "\(pin.identity)")
        }
    }

    @Test("each license matches the package's license")
    func licensesAreThoseOfThePackages() throws {
        // The programs are in <scratch path>/<triple>/<configuration>.
        let products = Bundle.main.bundleURL.resolvingSymlinksInPath()
        let checkouts = products.deletingLastPathComponent().deletingLastPathComponent().appending(path: "checkouts")
        let folders = try FileManager.default.contentsOfDirectory(at: checkouts, includingPropertiesForKeys: nil)
        let rows = try Self.rows()
        for folder in folders where folder.hasDirectoryPath {
            let file = try #require(
                try FileManager.default.contentsOfDirectory(atPath: folder.path)
                    .first { $0.lowercased().hasPrefix("license") },
                "\(folder.path)"
            )
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            let row = rows.first { $0.names.contains(folder.lastPathComponent.lowercased()) }
            // A checkout without a row is no longer pinned.
            guard let row else { continue }
            #expect(row.license == Self.license(of: text), "\(folder.lastPathComponent)")
        }
        #expect(folders.count >= 20)
    }

    @Test("everything that scripts/setup.sh installs has a row")
    func everythingInstalledHasARow() throws {
        let setup = try Repository.text("scripts/setup.sh")
        let names = Set(try Self.rows().flatMap(\.names))
        let needed = setup.matches(of: #/\n +need ([a-z0-9.+-]+) /#).map { String($0.1) }
        let python = try #require(setup.firstMatch(of: #/\npython_packages=\(([^)]*)\)/#)).1.split(separator: " ")
        #expect(needed.count >= 10 && python.count >= 5)
        for package in needed + python.map(String.init) {
            #expect(names.contains(package), "\(package)")
        }
    }
}
