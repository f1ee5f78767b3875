internal import ArgumentParser

/// Help as it is shown.
enum HelpText {
    /// The help of a command.
    static func of(_ command: any ParsableCommand.Type) -> String {
        tidied(MediactlCommand.helpMessage(for: command))
    }

    /// The parser names up to a dozen options on the line of the usage, and just `<options>` where there are more. Here they
    /// are `[<options>]` everywhere: the list below says it better, and the line stays short. What is required stays.
    static func tidied(_ help: String) -> String {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("USAGE: mediactl ") ? usage(String(line)) : String(line)
        }
        return lines.joined(separator: "\n")
    }

    private static func usage(_ line: String) -> String {
        let short = line.replacing(#/ \[-[^\]]*\]/#, with: "").replacing(" [<options>]", with: "").replacing(
            " <options>",
            with: ""
        )
        guard short != line else { return line }
        // The name of the command ends where its arguments begin.
        let name = short.prefixMatch(of: /USAGE: mediactl(?: [a-z][a-z-]*)*/).map { String($0.0) } ?? short
        return name + " [<options>]" + short.dropFirst(name.count)
    }
}
