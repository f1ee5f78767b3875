internal import ArgumentParser

/// Who reads standard input.
enum StandardInputReaders {
    /// Refuses a second reader.
    ///
    /// - Parameter readers: What would read it, as it is written on the command line.
    /// - Throws: `ValidationError`.
    static func check(_ readers: [String]) throws {
        guard readers.count <= 1 else {
            throw ValidationError(
                "Standard input can be read once only, not for \(readers.joined(separator: " and "))."
            )
        }
    }
}
