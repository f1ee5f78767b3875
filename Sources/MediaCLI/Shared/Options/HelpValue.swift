internal import ArgumentParser

/// The value of an option or argument: its name in the help, and its shell completion.
struct HelpValue: ExpressibleByStringLiteral {
    let name: String
    let completion: CompletionKind?

    init(_ name: String, completion: CompletionKind? = nil) {
        self.name = name
        self.completion = completion
    }

    init(stringLiteral name: String) { self.init(name) }

    static var file: HelpValue { file("file") }
    static var directory: HelpValue { HelpValue("dir", completion: .directory) }

    /// A file with a more specific name in the help.
    static func file(_ name: String) -> HelpValue { HelpValue(name, completion: .file()) }

    fileprivate func help(_ text: String) -> ArgumentHelp { ArgumentHelp(text, valueName: name) }
}

extension Option {
    init<T: ExpressibleByArgument>(
        _ help: String,
        value: HelpValue,
        name: NameSpecification = .long,
        parsing: SingleValueParsingStrategy = .next
    ) where Value == T? {
        self.init(name: name, parsing: parsing, help: value.help(help), completion: value.completion)
    }

    init<T: ExpressibleByArgument>(
        wrappedValue: [T],
        _ help: String,
        value: HelpValue,
        name: NameSpecification = .long
    ) where Value == [T] {
        self.init(wrappedValue: wrappedValue, name: name, help: value.help(help), completion: value.completion)
    }
}

extension Argument {
    init(_ help: String, value: HelpValue) where Value: ExpressibleByArgument {
        self.init(help: value.help(help), completion: value.completion)
    }

    init<T: ExpressibleByArgument>(_ help: String, value: HelpValue) where Value == T? {
        self.init(help: value.help(help), completion: value.completion)
    }

    init<T: ExpressibleByArgument>(wrappedValue: [T], _ help: String, value: HelpValue) where Value == [T] {
        self.init(wrappedValue: wrappedValue, help: value.help(help), completion: value.completion)
    }

    init<T: ExpressibleByArgument>(_ help: String, value: HelpValue) where Value == [T] {
        self.init(help: value.help(help), completion: value.completion)
    }
}
