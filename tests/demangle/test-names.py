# SPDX-License-Identifier: MIT
"""Demangled symbols: those of Rust's current scheme as its own compiler (1.95) wrote them, those of
its older scheme, C++; and texts that are no symbols.
"""
import os
import random
import re
import shutil
import subprocess
import unittest

# Each is compared with c++filt of binutils, if that is installed.
RUST = {
    '_RNvC3foo3bar': 'foo::bar',
    '_RNvCs6xxl1lAjzDf_1a2id': 'a::id',
    '_RINvCs6xxl1lAjzDf_1a7genericReKj2_EB2_': 'a::generic::<&str, 2>',
    '_RINvCs6xxl1lAjzDf_1a7genericINtNtCsgEmfK2I1SDS_4core6option6OptionxEKj1_EB2_':
        'a::generic::<core::option::Option<i64>, 1>',
    '_RNvXCs6xxl1lAjzDf_1aINtB2_6ServerThReAdj3_EENtB2_6Handle6handleB2_':
        '<a::Server<(u8, &str, [f64; 3])> as a::Handle>::handle',
    '_RINvCs6xxl1lAjzDf_1a4showINtNtCslNYArtu3iFV_5alloc5boxed3BoxDINtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTmEEp6OutputmNtNtB14_6'
    'marker4SendEL_EEB2_':
        'a::show::<alloc::boxed::Box<dyn core::ops::function::Fn<(u32,), Output = u32> + core::marker::Send>>',
    '_RINvMs9_NtNtNtCslNYArtu3iFV_5alloc11collections5btree4nodeINtB6_7NodeRefNtNtB6_6marker5OwnedyNtNtNtCsduwmD7cSIQq_5gimli4read6'
    'abbrev12AbbreviationNtB1a_8InternalE12new_internalNtNtBc_5alloc6GlobalEB1z_':
        '<alloc::collections::btree::node::NodeRef<alloc::collections::btree::node::marker::Owned, u64, '
        'gimli::read::abbrev::Abbreviation, alloc::collections::btree::node::marker::Internal>>'
        '::new_internal::<alloc::alloc::Global>',
    '_RNCNvC1a4main0B3_': 'a::main::{closure#0}',
    '_RNCNvC1a4mains_0B3_': 'a::main::{closure#1}',
    '_RINvC1a4showFG_RL0_eQhERL0_eEB2_': "a::show::<for<'a> fn(&'a str, &mut u8) -> &'a str>",
    '_RINvC1a4showFUKCPhEuEB2_': 'a::show::<unsafe extern "C" fn(*const u8)>',
    '_RINvC1a4showQSaEB2_': 'a::show::<&mut [i8]>',
    '_RINvC1a4signKin3_Kb1_Kc78_EB2_': "a::sign::<-3, true, 'x'>",
}
OLDER = {
    '_ZN4core3fmt9Formatter3pad17h0123456789abcdefE': 'core::fmt::Formatter::pad',
    '_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE':
        '<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop',
    '_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE': 'foo::{{closure}}',
}
OTHERS = {
    '_ZN3net6server4takeERKNS_4pairE': 'net::server::take(net::pair const&)',
    '_ZN3net8a$LT$b$GE': 'net::a$LT$b$G',
    'main': None,
    '_R': None,
    '_Rest': None,
    '_RNvC3foo3ba': None,
    '_RNvB_3bar': None,
    '_RC99999999999999999999foo': None,
}


def readable(symbols):
    done = subprocess.run([os.environ['READABLE']], input='\n'.join(symbols) + '\n', capture_output=True, text=True, check=True,
                          timeout=60, errors='replace')
    return done.stdout.splitlines()


class Names(unittest.TestCase):
    def check(self, wanted):
        for (symbol, name), found in zip(wanted.items(), readable(wanted)):
            self.assertEqual(found, name or symbol)

    def test_rust(self):
        self.check(RUST)

    def test_older(self):
        self.check(OLDER)

    def test_others(self):
        self.check(OTHERS)

    @unittest.skipUnless(shutil.which('c++filt'), 'there is no c++filt')
    def test_as_binutils(self):
        done = subprocess.run(['c++filt'], input='\n'.join(RUST) + '\n', capture_output=True, text=True, check=True)
        for line, name in zip(done.stdout.splitlines(), RUST.values()):
            # It also prints ids of crates, and types of constants.
            line = re.sub(r'\[[0-9a-f]{1,16}\](?=::|>|,|$)', '', line)
            self.assertEqual(re.sub(r': ?(usize|isize|i32|bool|char)\b', '', line), name)

    def test_damage(self):
        """Damaged names: the result comes soon, whatever it is."""
        random.seed(11)
        letters = 'ABCDEFIKLMNQRSTXYbcenpsu_0123456789'
        bad = []
        for symbol in RUST:
            for _ in range(400):
                text = list(symbol)
                for _ in range(random.randrange(1, 4)):
                    text[random.randrange(2, len(text))] = random.choice(letters)
                bad.append(''.join(text))
        # Names that refer to themselves repeatedly, and deeply nested ones.
        bad += ['_RINvC1a1b' + 'TB5_' * 50 + 'E' * 50, '_RC' + 'T' * 4000, '_RINvC1a1b' + 'R' * 4000 + 'eE',
                '_RINvC1a1bTuT' + ''.join(f'B{c}_B{c}_' for c in 'abcdefgh') + 'EEE']
        self.assertEqual(len(readable(bad)), len(bad))


if __name__ == '__main__':
    unittest.main()
