/// The words of the commands in a shell line, as far as the help examples need them: quotes and pipes.
enum ShellWords {
    static func commands(in line: String) -> [[String]] {
        var commands: [[String]] = [[]]
        var word: String?
        var quote: Character?
        for character in line {
            switch (character, quote) {
            case (let end, .some(let open)) where end == open: quote = nil
            case (_, .some): word = (word ?? "") + String(character)
            case ("'", nil), ("\"", nil): (quote, word) = (character, word ?? "")
            case (" ", nil), ("|", nil):
                commands[commands.count - 1] += word.map { [$0] } ?? []
                word = nil
                if character == "|" { commands.append([]) }
            default: word = (word ?? "") + String(character)
            }
        }
        commands[commands.count - 1] += word.map { [$0] } ?? []
        return commands.filter { !$0.isEmpty }
    }
}
