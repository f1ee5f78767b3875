internal import Foundation

/// Questions on the terminal. The question goes to standard error, the answer comes from standard input.
struct Prompter: Sendable {
    let context: CommandContext
    /// Whether a question may be asked: both ends are a terminal, and `--no-input` was not given.
    let isAllowed: Bool

    /// Asks until the answer is one of `answers`; end of input and an empty line give `fallback`.
    ///
    /// - Parameters:
    ///   - question: Ends with a question mark.
    ///   - answers: The valid responses, in full or abbreviated.
    ///   - shown: How the answers are shown; nil for all of them.
    ///   - fallback: The default.
    /// - Returns: One of `answers`.
    func choose(_ question: String, answers: [String], shown: String? = nil, fallback: String) async -> String {
        while true {
            context.errors.write("\(question) [\(shown ?? answers.joined(separator: "/"))] ")
            guard let line = await readLine() else {
                context.errors.write("\n")
                return fallback
            }
            let answer = line.lowercased().filter { !$0.isWhitespace }
            if answer.isEmpty {
                return fallback
            }
            if let match = answers.first(where: { $0.hasPrefix(answer) }) {
                return match
            }
        }
    }

    /// A yes-or-no question; anything but a yes is a no.
    func confirm(_ question: String) async -> Bool {
        await choose(question, answers: ["yes", "no"], shown: "y/N", fallback: "no") == "yes"
    }

    /// One line without its end; nil at the end of the input. Read byte by byte, so that nothing behind the line is
    /// taken, on a thread of its own, since a person may take long.
    private func readLine() async -> String? {
        let descriptor = context.standardInput
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while true {
                    let count = read(descriptor, &byte, 1)
                    if count < 0, errno == EINTR { continue }
                    if count <= 0 {
                        continuation.resume(returning: line.isEmpty ? nil : String(decoding: line, as: UTF8.self))
                        return
                    }
                    if byte == UInt8(ascii: "\n") {
                        continuation.resume(returning: String(decoding: line, as: UTF8.self))
                        return
                    }
                    line.append(byte)
                }
            }
        }
    }
}
