internal import MediaCore

#if DEBUG || TESTABLE
    @testable import MediaCLI
    @testable import MediaFiles
    import MediaStore
    import MediaTransport
    @testable import Tapes

    /// Files written by users, or by other programs for them.
    enum DocumentEntry {
        static func check(_ bytes: [UInt8]) -> String? {
            let text = String(decoding: bytes, as: UTF8.self)
            return checkLogins(text) ?? checkSettings(text) ?? checkTables(bytes) ?? checkPatterns(bytes, text)
                ?? checkExport(bytes) ?? checkReport(bytes) ?? checkNames(bytes, text)
        }

        private static func checkLogins(_ text: String) -> String? {
            guard let netrc = try? Netrc(text) else { return nil }
            if let entry = netrc.entry(host: "media.example.org", user: nil), entry.password == nil {
                return "an entry without a password"
            }
            return nil
        }

        private static func checkSettings(_ text: String) -> String? {
            do throws(SettingsError) {
                _ = try SettingsFile(text: text, path: "/home/ann/.config/mediactl/config.yaml", home: "/home/ann")
            } catch {
                if let line = error.line, line < 1 { return "an error in line \(line)" }
            }
            return nil
        }

        private static func checkTables(_ bytes: [UInt8]) -> String? {
            for format in Manifest.Format.allCases {
                let (rows, errors) = Manifest.rowsAndErrors(in: bytes, as: format)
                guard rows.allSatisfy({ $0.line >= 1 && !$0.path.isEmpty }), errors.allSatisfy({ $0.line >= 1 }) else {
                    return "an invalid row of \(format)"
                }
                // The rows of a table with errors are not used.
                if errors.isEmpty, rows.contains(where: { $0.fields.keys.contains { !Manifest.columns.contains($0) } })
                {
                    return "an unknown column"
                }
            }
            for separator in [PathList.Separator.line, .zero] {
                if let paths = try? PathList.paths(in: bytes, separatedBy: separator),
                    paths.contains(where: { $0.isEmpty || $0.contains(0) })
                {
                    return "an invalid path"
                }
            }
            return nil
        }

        /// A pattern is matched against the text that follows it in the input.
        private static func checkPatterns(_ bytes: [UInt8], _ text: String) -> String? {
            let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let pattern = String(lines[0].prefix(1000))
            if let glob = try? GlobPattern(pattern) {
                _ = glob.matches(Array((lines.count > 1 ? lines[1] : "").utf8.prefix(1000)))
            }
            if let template = try? LabelTemplate(pattern) {
                _ = template.label(path: Array("clips/a.mp4".utf8), eventDate: "2026-06-13", number: 1)
            }
            _ = UserDirectories.pictures(in: bytes, home: Array("/home/ann".utf8))
            return nil
        }

        /// A parsed entry must be unchanged after it is written and parsed again.
        private static func checkExport(_ bytes: [UInt8]) -> String? {
            let scope = { (address: String) in (try? ServerURL(address))?.scope }
            for text in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let entry = try? TokenExport.entry(in: text, number: 1, scope: scope) else { continue }
                let line = TokenExport.line(entry)
                guard let again = try? TokenExport.entry(in: line[...], number: 1, scope: scope), again == entry else {
                    return "an entry that does not round-trip"
                }
                // Written to files without escaping, and possibly to a terminal.
                guard Shape.isPrintable(String(decoding: line, as: UTF8.self)) else { return "an unprintable line" }
            }
            return nil
        }

        private static func checkReport(_ bytes: [UInt8]) -> String? {
            guard let report = try? ReportDocument(reading: bytes, name: "report.json") else { return nil }
            return report.inputs(from: "/srv").count <= report.items.count ? nil : "more files than items"
        }

        /// External names that are printed to a terminal or used in a directory.
        private static func checkNames(_ bytes: [UInt8], _ text: String) -> String? {
            guard Shape.isPrintable(TerminalText.escaped(bytes)), Shape.isPrintable(TerminalText.escaped(text)) else {
                return "an escaped text with terminal controls"
            }
            let name = SafeFileName(text, id: text).text
            guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 255, !name.utf8.contains(0x2f),
                Shape.isPrintable(name)
            else { return "an invalid name: \(name.debugDescription)" }
            return nil
        }
    }
#endif
