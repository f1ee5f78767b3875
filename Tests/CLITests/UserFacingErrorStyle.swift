import Testing

@testable import MediaCLI

extension UserFacingError {
    /// Checks that hold for every error: lines in our style, without characters that control a terminal, and the
    /// exit code of a failure.
    func expectOurStyle(sourceLocation: SourceLocation = #_sourceLocation) {
        for line in [message, hint].compactMap({ $0 }) {
            #expect(!line.isEmpty && !line.hasSuffix(".") && !line.contains("\n"), sourceLocation: sourceLocation)
            #expect(
                !line.unicodeScalars.contains { $0.properties.generalCategory == .control },
                sourceLocation: sourceLocation
            )
            #expect(line.prefix(1) == line.prefix(1).lowercased(), sourceLocation: sourceLocation)
        }
        // A run is partly done if the server does not list one of its files.
        #expect(exitCode != .success && (exitCode != .partly || code == "not_listed"), sourceLocation: sourceLocation)
    }
}
