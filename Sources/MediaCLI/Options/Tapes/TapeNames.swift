internal import ArgumentParser

/// What commands of `tapes` say of their arguments.
enum TapeHelp {
    static let tape = ArgumentHelp(
        "The tape: its id, the first 4 characters of it or more, or its title.",
        valueName: "tape"
    )
    static let clip = ArgumentHelp(
        "A clip: its id, the first 4 characters of it or more, or #N, its place from 1.",
        valueName: "clip"
    )
}

extension RawArguments {
    /// A title, which is text, not bytes.
    ///
    /// - Throws: `Diagnosis` (usage) for one that is not UTF-8.
    static func title(_ argument: String) throws(Diagnosis) -> String {
        guard let title = String(validating: bytes(of: argument), as: UTF8.self) else {
            throw .usage("the title \(ErrorCatalogue.quoted(bytes(of: argument))) is not UTF-8")
        }
        return title
    }
}
